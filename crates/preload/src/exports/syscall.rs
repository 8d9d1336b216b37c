//! `syscall(2)`: handles seccomp filters, `PR_SET_THP_DISABLE` and `exit_group` by number.
#![expect(unsafe_code, reason = "exports a function of libc")]

use core::ffi::c_long;

use hugetools_pages::sys::cast;

use crate::next;
use crate::process::seccomp;
use crate::report::end;

/// `syscall(2)`. All six arguments are passed on.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let args = [a, b, c, d, e, f];
    // SAFETY: upheld by the caller.
    let call = || unsafe { next::syscall(number, args) };
    if let Some(result) = seccomp::intercept_syscall(number, args, call) {
        return result;
    }
    if number == libc::SYS_prctl && seccomp::ignores_thp_disable(cast::int(a), b) {
        return 0;
    }
    if number == libc::SYS_exit_group {
        end::report_at_exit(cast::int(a));
    }
    call()
}

//! `syscall(2)`: calls on memory that a program makes by their numbers are calls
//! on memory like others. All other numbers go on as they are.
#![expect(unsafe_code, reason = "exports a function of libc")]

use core::ffi::{c_long, c_void};

use hugetools_pages::migrate::mbind::Wanted;
use hugetools_pages::sys::{self, Errno, cast};
use hugetools_pages::vmops::{self, by_number, library_text};

use super::fit::again_if_fit;
use crate::next::{self, Way};
use crate::process::seccomp;
use crate::report::end;
use crate::{exports, sysv_shm};

/// `syscall(2)`, with as many arguments as a call may have.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let args = [a, b, c, d, e, f];
    // SAFETY: as the caller says.
    let call = || unsafe { next::syscall(number, args) };
    if let Some(result) = seccomp::by_number(number, args, call) {
        return result;
    }
    if number == libc::SYS_exit_group {
        end::at_once(cast::int(a));
    }
    if let Some(result) = by_number::call(number, args) {
        return next::c_long_result(result);
    }
    // SAFETY: as the caller says.
    if let Some(result) = unsafe { by_name(number, args) } {
        return result;
    }
    let before = sys::errno();
    let result = again_if_fit(call, || match number {
        sys::MSEAL => vmops::make_fit(a, b),
        libc::SYS_mprotect | sys::PKEY_MPROTECT => library_text::leave_pool(a, b),
        _ => false,
    });
    if result != -1 {
        by_number::note(number, args, result);
    } else if sys::errno() == Errno(libc::EFAULT) {
        if let Some(result) = by_number::in_parts(number, args) {
            sys::set_errno(before);
            return next::c_long_result(result);
        }
    }
    if result == -1 {
        by_number::refused(number, args);
    }
    result
}

/// What the function of that name does.
///
/// # Safety
/// As the system call says.
unsafe fn by_name(number: c_long, args: [usize; 6]) -> Option<c_long> {
    use cast::{int, unsigned};
    let [a, b, c, d, e, _] = args;
    if number == libc::SYS_prctl {
        return seccomp::is_lifted(int(a), b).then_some(0);
    }
    if number == libc::SYS_madvise {
        // SAFETY: as the caller says.
        return Some(unsafe { exports::advise(Way::Number, a as *mut c_void, b, int(c)) }.into());
    }
    if number == libc::SYS_process_madvise {
        let (ranges, flags) = (b as *const libc::iovec, unsigned(int(e)));
        // SAFETY: as the caller says.
        let advised =
            unsafe { exports::advise_process(Way::Number, int(a), ranges, c, int(d), flags) };
        return Some(advised as c_long);
    }
    if number == libc::SYS_remap_file_pages {
        // SAFETY: as the caller says.
        let call = || unsafe { next::syscall(number, args) };
        return Some(exports::mremap::with_ordinary_pages(a, b, call));
    }
    if number == libc::SYS_mbind {
        let (mode, flags) = (c, args[5]);
        let wanted = Wanted {
            mode,
            mask: d,
            max: e,
            flags,
        };
        // SAFETY: as the caller says.
        return Some(unsafe { exports::bind(a, b, wanted) }.into());
    }
    // SAFETY: as the caller says.
    unsafe { on_segment(number, args) }
}

/// Those of System V.
///
/// # Safety
/// As the system call says.
unsafe fn on_segment(number: c_long, [a, b, c, ..]: [usize; 6]) -> Option<c_long> {
    use cast::int;
    match number {
        sys::SYS_SHMGET => Some(sysv_shm::shmget(Way::Number, int(a), b, int(c)).into()),
        sys::SYS_SHMAT => {
            // SAFETY: as the caller says.
            let at = unsafe { sysv_shm::shmat(Way::Number, int(a), b as *const c_void, int(c)) };
            Some(next::c_long_result(Ok(at as usize)))
        }
        sys::SYS_SHMCTL => {
            // SAFETY: as the caller says.
            Some(unsafe { sysv_shm::shmctl(Way::Number, int(a), int(b), c as *mut c_void) }.into())
        }
        _ => None,
    }
}

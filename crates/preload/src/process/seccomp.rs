//! Seccomp filters that the program sets for itself, by `prctl` or `syscall`. From then on we make
//! only the system calls of malloc: see `seccomp_filter` in `hugetools_pages::sys`. Programs probe
//! the kernel with calls that fail and set no filter.
#![expect(unsafe_code, reason = "exports a function of libc")]

use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_contract::env;
use hugetools_pages::config;
use hugetools_pages::fork::admission;
use hugetools_pages::next_touch::request as next_touch;
use hugetools_pages::policy::{start_facts, thp};
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::sys::{self, cast};
use hugetools_pages::vmops::anon;

use crate::next;

/// `prctl(2)`. All arguments are passed on.
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        // SAFETY: upheld by the caller.
        return set_filter(
            b,
            || unsafe { next::prctl(option, a, b, c, d) },
            |result| result == 0,
        );
    }
    if ignores_thp_disable(option, a) {
        return 0;
    }
    // SAFETY: upheld by the caller.
    let result = unsafe { next::prctl(option, a, b, c, d) };
    if option == libc::PR_SET_THP_DISABLE && result == 0 {
        note_disabled(a != 0 && b & EXCEPT_ADVISED == 0);
    }
    result
}

/// `PR_THP_DISABLE_EXCEPT_ADVISED` (Linux 6.18): memory with `MADV_HUGEPAGE` is exempt.
const EXCEPT_ADVISED: usize = 1 << 1;

/// Whether to ignore a call that disables transparent huge pages (`HUGETLB_THP_POLICY=always`).
pub(crate) fn ignores_thp_disable(option: c_int, value: usize) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    let is_ignored =
        option == libc::PR_SET_THP_DISABLE && value != 0 && config::get().ignore_thp_disable;
    if is_ignored && !SAID.swap(true, Ordering::Relaxed) {
        say(
            Level::Info,
            format_args!(
                "prctl(PR_SET_THP_DISABLE): not carried out, since {} is always",
                env::THP_POLICY
            ),
        );
    }
    is_ignored
}

fn note_disabled(yes: bool) {
    thp::note_disabled(yes);
    if yes {
        anon::report_disabled();
    }
}

/// Ends the service of next touch, reads the facts that will be needed, moves private memory off
/// the pools, and notes the filter. A `program` of 0 is a probe of the kernel.
fn begin(program: usize) {
    next_touch::finish();
    start_facts::take();
    if program != 0 {
        admission::before_filter();
    }
    sys::note_own_filter();
}

/// Makes a call that sets a filter, and takes the note back if it fails. Other threads may set
/// filters at the same time, so filters are counted.
fn set_filter<T: Copy>(
    program: usize,
    call: impl FnOnce() -> T,
    has_set: impl FnOnce(T) -> bool,
) -> T {
    begin(program);
    let result = call();
    if !has_set(result) {
        sys::note_failed_filter();
    }
    result
}

/// Makes a call by number if it sets a filter. Otherwise returns `None`.
#[inline]
pub(crate) fn intercept_syscall(
    number: c_long,
    args: [usize; 6],
    call: impl FnOnce() -> c_long,
) -> Option<c_long> {
    if number != libc::SYS_seccomp && number != libc::SYS_prctl {
        return None;
    }
    let operation = cast::int(args[0]);
    if !sets_filter(number, operation) {
        return None;
    }
    let flags = match number {
        libc::SYS_seccomp => args[1],
        _ => 0,
    };
    Some(set_filter(args[2], call, |result| has_set(result, flags)))
}

fn sets_filter(number: c_long, operation: c_int) -> bool {
    /// `SECCOMP_SET_MODE_STRICT` and `SECCOMP_SET_MODE_FILTER`.
    const SETTING: [c_int; 2] = [0, 1];
    match number {
        libc::SYS_seccomp => SETTING.contains(&operation),
        _ => operation == libc::PR_SET_SECCOMP,
    }
}

/// Whether the call has set a filter: it returned 0, or a listener's descriptor if requested. Any
/// other positive result is the ID of a thread that could not be synchronised.
fn has_set(result: c_long, flags: usize) -> bool {
    const NEW_LISTENER: usize = 1 << 3;
    result == 0 || result > 0 && flags & NEW_LISTENER != 0
}

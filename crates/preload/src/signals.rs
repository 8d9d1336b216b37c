//! The program's own signal handlers, before which ours stand for `SIGSEGV` and
//! `SIGBUS`: it must not see ours, nor take their place.
//!
//! [`masks`]: its calls that say which signals are blocked.
//!
//! **Invariants.** The program is told of the handlers and masks that it has set itself,
//! and of no others. Until a handler of ours stands, its calls go on as they are.
//!
//! **Locks.** That of `hugetools_pages::fault`, for a change of a handler.
//!
//! **At a fork.** Handlers and masks are inherited, ours as the program's.
#![expect(
    unsafe_code,
    reason = "takes and gives actions by address, as libc does"
)]

use core::ffi::c_int;
use core::mem::MaybeUninit;

use hugetools_pages::fault::sigchain::Handler;
use hugetools_pages::fault::{libc_sigaction, sigsegv};
use hugetools_pages::migrate::sigbus;

use crate::next;

pub(crate) mod masks;

/// Our handler for a signal.
fn handler(signal: c_int) -> Option<&'static Handler> {
    match signal {
        libc::SIGSEGV => Some(&sigsegv::HANDLER),
        libc::SIGBUS => Some(&sigbus::HANDLER),
        _ => None,
    }
}

/// `sigaction`
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let Some(handler) = handler(signal) else {
        // SAFETY: as the caller says.
        return unsafe { masks::sigaction(signal, new, old) };
    };
    // SAFETY: as the caller says.
    let wanted = unsafe { new.as_ref() }.copied();
    let before = match handler.program_action(wanted.as_ref()) {
        Some(before) => before,
        None => {
            let mut told = MaybeUninit::zeroed();
            // SAFETY: as the caller says.
            if unsafe { libc_sigaction::sigaction(signal, new, told.as_mut_ptr()) } != 0 {
                return -1;
            }
            // SAFETY: written by the call that succeeded.
            handler.seen(unsafe { told.assume_init() })
        }
    };
    if !old.is_null() {
        // SAFETY: as the caller says.
        unsafe { old.write(before) };
    }
    0
}

/// `signal`; where `once`, its variant of System V: for one signal only, which
/// is not blocked meanwhile.
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn signal(signal: c_int, function: usize, once: bool) -> usize {
    // SAFETY: as the caller says.
    let ours = || unsafe { by_sigaction(signal, function, once) };
    match handler(signal) {
        Some(handler) if handler.stands() => ours(),
        // SAFETY: as the caller says.
        _ => unsafe { next::signal(signal, function, once, ours) },
    }
}

unsafe fn by_sigaction(signal: c_int, function: usize, once: bool) -> usize {
    // SAFETY: all bits zero are a valid action.
    let mut new: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    new.sa_sigaction = function;
    new.sa_flags = match once {
        true => libc::SA_RESETHAND | libc::SA_NODEFER,
        false => libc::SA_RESTART,
    };
    let mut old = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: as the caller says.
    match unsafe { sigaction(signal, &raw const new, old.as_mut_ptr()) } {
        // SAFETY: written by the call that succeeded.
        0 => unsafe { old.assume_init() }.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}

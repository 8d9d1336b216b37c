//! libc's `sigaction`, past our own function of that name.
#![expect(unsafe_code, reason = "calls libc by address")]

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{weak_function, word};

word!(hugetools_sigaction);

type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Tells where the function is that ours stands before.
///
/// # Safety
/// It must be the address of a `sigaction`, or 0.
pub unsafe fn set_next(address: usize) {
    NEXT.store(address, Ordering::Relaxed);
}

fn function() -> Option<Sigaction> {
    match NEXT.load(Ordering::Relaxed) {
        0 => weak_function!(hugetools_sigaction as Sigaction),
        // SAFETY: as `set_next` was promised.
        next => Some(unsafe { core::mem::transmute::<usize, Sigaction>(next) }),
    }
}

/// `sigaction(2)`: -1 where it failed, or there is none.
///
/// # Safety
/// As libc's.
pub unsafe fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the caller says.
    function().map_or(-1, |call| unsafe { call(signal, new, old) })
}

/// What the kernel knows; `None` where it cannot be told.
pub(super) fn current(signal: c_int) -> Option<libc::sigaction> {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: only asks.
    let result = unsafe { sigaction(signal, core::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: written where the call succeeded.
    (result == 0).then(|| unsafe { now.assume_init() })
}

/// Sets an action that is known to be valid.
pub(super) fn set(signal: c_int, action: &libc::sigaction) -> bool {
    // SAFETY: a valid action; the old one is not asked for.
    unsafe { sigaction(signal, action, core::ptr::null_mut()) == 0 }
}

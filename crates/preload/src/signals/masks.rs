//! The program's calls that say which signals are blocked: see
//! [`hugetools_pages::fault::sigmask`]. Before there is anything to mend they go on
//! as they are.
#![expect(unsafe_code, reason = "takes and gives sets by address, as libc does")]

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::{from_ref, null};

use hugetools_pages::fault::{libc_sigaction, sigmask};
use libc::sigset_t;

use crate::kernel_writes::buffers::{can_be_read, range};
use crate::next::call::{NO_CALL, next};

/// The calls that change what is blocked.
#[derive(Debug, Clone, Copy)]
enum By {
    Thread,
    Process,
}

impl By {
    /// # Safety
    /// As libc's.
    unsafe fn call(self, how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
        match self {
            By::Thread => next!(
                c"pthread_sigmask",
                fn(c_int, *const sigset_t, *mut sigset_t) -> c_int,
                NO_CALL,
                (how, set, old)
            ),
            By::Process => next!(
                c"sigprocmask",
                fn(c_int, *const sigset_t, *mut sigset_t) -> c_int,
                NO_CALL,
                (how, set, old)
            ),
        }
    }
}

/// `pthread_sigmask`
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn of_thread(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { change(By::Thread, how, set, old) }
}

/// `sigprocmask`
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn of_process(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { change(By::Process, how, set, old) }
}

/// # Safety
/// As libc's.
unsafe fn change(by: By, how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: as the caller says.
    let wanted = (!set.is_null()).then(|| unsafe { sigmask::read(set) });
    if !sigmask::is_used() {
        let changed = wanted.map(|set| sigmask::set_of(sigmask::early(how, set)));
        let set = changed.as_ref().map_or(null(), from_ref);
        // SAFETY: as the caller says.
        return unsafe { by.call(how, set, old) };
    }
    let (how, signals) = match wanted {
        None => (how, None),
        Some(wanted) => match sigmask::at_once(how, wanted) {
            Some(signals) => (how, Some(signals)),
            // SAFETY: likewise.
            None => unsafe { merged(by, how, wanted) },
        },
    };
    let changed = signals.map(sigmask::set_of);
    let set = changed.as_ref().map_or(null(), from_ref);
    // The kernel could not write to a page that has to be mended; this thread can.
    let mut told = sigmask::set_of(0);
    // SAFETY: likewise.
    let result = unsafe { by.call(how, set, &raw mut told) };
    if result == 0 && !old.is_null() {
        // SAFETY: libc's.
        let before = sigmask::for_program(unsafe { sigmask::read(&raw const told) });
        // SAFETY: as the caller says.
        unsafe { sigmask::write(old, before) };
    }
    result
}

/// A call that depends on what is blocked now, as one that does not.
///
/// # Safety
/// As libc's.
#[cold]
unsafe fn merged(by: By, how: c_int, wanted: u64) -> (c_int, Option<u64>) {
    let mut now = sigmask::set_of(0);
    // SAFETY: only asks.
    unsafe { by.call(libc::SIG_BLOCK, null(), &raw mut now) };
    // SAFETY: libc's.
    let before = sigmask::for_program(unsafe { sigmask::read(&raw const now) });
    match sigmask::after(before, how, wanted) {
        Some(after) => (libc::SIG_SETMASK, Some(sigmask::for_kernel(after))),
        // libc has an error for that.
        None => (how, Some(wanted)),
    }
}

/// `sigsuspend`
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn suspend(set: *const sigset_t) -> c_int {
    let call = |set| next!(c"sigsuspend", fn(*const sigset_t) -> c_int, NO_CALL, (set));
    // SAFETY: as the caller says.
    unsafe { with_mask(set, call) }
}

/// Runs a call that waits with another set of signals, or with none, blocked: a handler that
/// runs meanwhile is to have its faults come through, as any other.
///
/// # Safety
/// Null, or what the program passes as a set; where that cannot be read it is passed on.
pub(crate) unsafe fn with_mask<R>(
    set: *const sigset_t,
    call: impl FnOnce(*const sigset_t) -> R,
) -> R {
    if set.is_null() || !sigmask::is_used() || !can_be_read(&range(set as usize, size_of::<u64>()))
    {
        return call(set);
    }
    // SAFETY: as the caller says.
    let changed = sigmask::set_of(sigmask::for_kernel(unsafe { sigmask::read(set) }));
    sigmask::while_waiting(|| call(&raw const changed))
}

/// `sigaction` for signals before which none of ours stands.
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the caller says.
    let mut changed = unsafe { new.as_ref() }.copied();
    if let Some(action) = &mut changed {
        // SAFETY: libc's.
        let wanted = unsafe { sigmask::read(&raw const action.sa_mask) };
        // SAFETY: likewise.
        unsafe { sigmask::write(&raw mut action.sa_mask, sigmask::meanwhile(wanted)) };
    }
    let new = changed.as_ref().map_or(null(), from_ref);
    if !sigmask::is_used() {
        // SAFETY: as the caller says.
        return unsafe { libc_sigaction::sigaction(signal, new, old) };
    }
    let mut told = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: as the caller says.
    let result = unsafe { libc_sigaction::sigaction(signal, new, told.as_mut_ptr()) };
    if result == 0 && !old.is_null() {
        // SAFETY: all bits zero are an action, and libc has filled it.
        let mut told = unsafe { told.assume_init() };
        // SAFETY: libc's.
        let blocked = unsafe { sigmask::read(&raw const told.sa_mask) };
        // SAFETY: likewise.
        unsafe { sigmask::write(&raw mut told.sa_mask, sigmask::for_program(blocked)) };
        // SAFETY: as the caller says.
        unsafe { old.write(told) };
    }
    result
}

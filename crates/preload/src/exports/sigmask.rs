//! The functions of libc that are about which signals are blocked; see
//! `masks`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::c_int;

use libc::sigset_t;

use crate::signals::masks;

/// `pthread_sigmask(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { masks::of_thread(how, set, old) }
}

/// `sigprocmask(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { masks::of_process(how, set, old) }
}

/// `sigsuspend(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(set: *const sigset_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { masks::suspend(set) }
}

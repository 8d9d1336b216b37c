//! Sending a signal once more.
#![expect(unsafe_code, reason = "reads what the kernel has filled")]

use core::ffi::c_int;

use crate::sys::call::{Result, ask};
use crate::sys::cast::extended;
use crate::sys::process::{getpid, gettid};

/// Sends a signal once more as it was sent: to this process, or, where that was
/// sent to this thread or may not be done in its name, to this thread.
///
/// # Errors
/// As the system call, or that it may not be made.
///
/// # Safety
/// `info` must be what the kernel told of a signal.
pub unsafe fn send_again(signal: c_int, info: *const libc::siginfo_t) -> Result<()> {
    // SAFETY: as the caller says.
    let is_for_thread = unsafe { (*info).si_code } == libc::SI_TKILL;
    let (process, signal, info) = (getpid() as usize, extended(signal), info as usize);
    let to_process = || {
        let args = [process, signal, info, 0, 0, 0];
        ask(libc::SYS_rt_sigqueueinfo, args)
    };
    if !is_for_thread && to_process().is_ok() {
        return Ok(());
    }
    let args = [process, gettid() as usize, signal, info, 0, 0];
    ask(libc::SYS_rt_tgsigqueueinfo, args).map(drop)
}

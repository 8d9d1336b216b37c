//! System calls that have no safe form elsewhere: swap, and signals.
#![expect(unsafe_code, reason = "these calls have no wrapper")]

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

/// Uses a file or device as swap.
pub(super) fn swap_on(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a string with its end, which the call only reads.
    let result = unsafe { libc::swapon(path.as_ptr(), 0) };
    nix::errno::Errno::result(result)?;
    Ok(())
}

/// Uses it no longer.
pub(super) fn swap_off(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a string with its end, which the call only reads.
    let result = unsafe { libc::swapoff(path.as_ptr()) };
    nix::errno::Errno::result(result)?;
    Ok(())
}

/// The signals that end a run in good order.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// The first of them that came; 0 is none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    // The first one counts; another changes nothing.
    let _ = CAUGHT.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

/// From now on the signals that end a run only interrupt the call that is
/// being made, and are noted. One that was ignored from the start stays so.
pub fn catch_signals() {
    // Without SA_RESTART: a write that makes a pool grow shall end.
    let action = SigAction::new(SigHandler::Handler(note), SaFlags::empty(), SigSet::empty());
    for signal in SIGNALS {
        // SAFETY: the handler stores one atomic number and nothing else.
        let before = unsafe { sigaction(signal, &action) };
        if before.is_ok_and(|before| matches!(before.handler(), SigHandler::SigIgn)) {
            set(signal, SigHandler::SigIgn);
        }
    }
}

/// The signal that wants the run to end.
pub fn caught_signal() -> Option<i32> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Ends this process as the signal would have, so that a shell sees it.
pub fn end_by(signal: i32) {
    if let Ok(signal) = Signal::try_from(signal) {
        set(signal, SigHandler::SigDfl);
        let _ = raise(signal);
    }
}

fn set(signal: Signal, handler: SigHandler) {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: no code of this program is called by either handler.
    let _ = unsafe { sigaction(signal, &action) };
}

//! System calls without a safe wrapper: swap, and signals.
#![expect(unsafe_code, reason = "these calls have no wrapper")]

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

pub(super) fn swap_on(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is zero-terminated, and the call only reads it.
    let result = unsafe { libc::swapon(path.as_ptr(), 0) };
    nix::errno::Errno::result(result)?;
    Ok(())
}

pub(super) fn swap_off(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is zero-terminated, and the call only reads it.
    let result = unsafe { libc::swapoff(path.as_ptr()) };
    nix::errno::Errno::result(result)?;
    Ok(())
}

/// Signals that end a run after cleanup.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// The first signal received; 0 if none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_signal(signal: libc::c_int) {
    let _ = CAUGHT.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

/// Catches the signals that end a run: each interrupts the present system call, and the first is
/// recorded. Signals ignored at the start stay ignored.
pub fn catch_signals() {
    // No SA_RESTART: the signal must end a write that grows a pool.
    let action = SigAction::new(
        SigHandler::Handler(on_signal),
        SaFlags::empty(),
        SigSet::empty(),
    );
    for signal in SIGNALS {
        // SAFETY: the handler only stores to an atomic.
        let before = unsafe { sigaction(signal, &action) };
        if before.is_ok_and(|before| matches!(before.handler(), SigHandler::SigIgn)) {
            set(signal, SigHandler::SigIgn);
        }
    }
}

/// Returns the signal that asks the run to end.
pub fn caught_signal() -> Option<i32> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Kills this process by the signal, so that a shell sees it.
pub fn end_by(signal: i32) {
    if let Ok(signal) = Signal::try_from(signal) {
        set(signal, SigHandler::SigDfl);
        let _ = raise(signal);
    }
}

fn set(signal: Signal, handler: SigHandler) {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: neither handler runs code of this program.
    let _ = unsafe { sigaction(signal, &action) };
}

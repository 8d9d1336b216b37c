//! Waiting for children, and signals.
#![expect(
    unsafe_code,
    reason = "nix has no wait4, and installing a signal handler is unsafe"
)]

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Resources used by an ended child and the children it reaped.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    pub(crate) faults: u64,
}

/// Waits for a child; `None` if it still runs and `wait` is false, or a signal ends the wait.
pub(crate) fn wait(pid: u32, wait: bool) -> io::Result<Option<(ExitStatus, Usage)>> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let flags = if wait { 0 } else { libc::WNOHANG };
    let mut status = 0;
    // SAFETY: numbers only; any value is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes both variables.
    let waited = unsafe { libc::wait4(pid, &raw mut status, flags, &raw mut usage) };
    match Errno::result(waited) {
        Ok(0) | Err(Errno::EINTR) => return Ok(None),
        waited => waited?,
    };
    let time = |time: libc::timeval| {
        let part = |value: i64| u64::try_from(value).unwrap_or(0);
        Duration::from_secs(part(time.tv_sec)) + Duration::from_micros(part(time.tv_usec))
    };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let used = Usage {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        faults: count(usage.ru_minflt) + count(usage.ru_majflt),
    };
    Ok(Some((ExitStatus::from_raw(status), used)))
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn interrupt(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Makes SIGINT and SIGTERM set a flag instead of ending the process; exec restores the default
/// actions. Unblocks all signals: a server inherits the mask, and SIGTERM must end it.
pub(crate) fn catch_interrupts() {
    let action = SigAction::new(
        SigHandler::Handler(interrupt),
        SaFlags::empty(),
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler only stores to an atomic variable.
        let _ = unsafe { sigaction(signal, &action) };
    }
    let _ = SigSet::all().thread_unblock();
}

pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

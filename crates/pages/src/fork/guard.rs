//! Blocks signals and closes the gate from `prepare` to `parent` or `child`.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::rt::fork_gate::GATE;
use crate::sys;

/// Signal mask of the thread that has closed the gate, before that.
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Begins the guard. Does nothing if the gate can't be closed, for example if a signal handler forks
/// while this thread changes pages.
pub(super) fn begin() {
    let signals = sys::block_signals(!sys::FAULT_SIGNALS);
    match GATE.close() {
        true => SIGNALS.store(signals, Ordering::Relaxed),
        false => sys::set_blocked_signals(signals),
    }
}

/// Ends the guard if this thread has begun it.
pub(super) fn end() {
    if GATE.is_closed_by_this_thread() {
        let signals = SIGNALS.load(Ordering::Relaxed);
        GATE.open();
        sys::set_blocked_signals(signals);
    }
}

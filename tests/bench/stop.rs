//! A signal ends the benchmark early, after the machine is restored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Blocks termination signals and waits for them in a thread. Later threads inherit the mask.
pub(crate) fn watch() {
    let signals: SigSet = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM]
        .into_iter()
        .collect();
    if signals.thread_block().is_ok() {
        thread::spawn(move || ASKED.store(signals.wait().is_ok(), Ordering::Relaxed));
    }
}

/// Whether a termination signal has arrived.
pub(crate) fn is_requested() -> bool {
    ASKED.load(Ordering::Relaxed)
}

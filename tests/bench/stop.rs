//! A signal ends the benchmark early, not without putting the machine back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the signals that ask for an end are waited for by a thread. To
/// be called before any other thread is started; programs start with no signal
/// blocked.
pub(crate) fn watch() {
    let signals: SigSet = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM]
        .into_iter()
        .collect();
    if signals.thread_block().is_ok() {
        thread::spawn(move || ASKED.store(signals.wait().is_ok(), Ordering::Relaxed));
    }
}

/// Whether the end was asked for.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

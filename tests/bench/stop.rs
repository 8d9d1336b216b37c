//! On a signal, the benchmark restores the machine and ends early.

use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Blocks termination signals and waits for them in a thread. Later threads inherit the mask.
pub(crate) fn watch() {
    let signals: SigSet = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM]
        .into_iter()
        .collect();
    if signals.thread_block().is_ok() {
        thread::spawn(move || REQUESTED.store(signals.wait().is_ok(), Ordering::Relaxed));
    }
}

/// Whether a termination signal has arrived.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Waits for hugectl. A signal to the benchmark interrupts it.
pub(crate) fn wait(child: &mut Child) -> io::Result<()> {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    while child.try_wait()?.is_none() {
        thread::sleep(Duration::from_millis(20));
        if is_requested() {
            // hugectl may have exited.
            let _ = kill(pid, Signal::SIGINT);
        }
    }
    Ok(())
}

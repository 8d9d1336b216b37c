//! A turn at a table of the registry.

use crate::rt::fork_gate::{GATE, Pass};
use crate::rt::lock::{Held, Lock};
use crate::sys::NoSignals;

/// Holding the lock of a table. A fork waits until it is over. Signals wait,
/// too: a handler of the program that changes a mapping would else wait for the
/// very thread that it has interrupted. Signals for faults do not.
#[derive(Debug)]
pub struct Turn {
    // In this order they end.
    _held: Held<'static>,
    _pass: Pass<'static>,
    _quiet: NoSignals,
}

impl Turn {
    /// Waits for the turn.
    pub fn take(lock: &'static Lock) -> Turn {
        let quiet = NoSignals::but_faults();
        let pass = GATE.pass();
        Turn {
            _held: lock.lock(),
            _pass: pass,
            _quiet: quiet,
        }
    }
}

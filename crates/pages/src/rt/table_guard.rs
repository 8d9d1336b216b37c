//! Exclusive access to a table of the registry.

use crate::rt::fork_gate::{GATE, Pass};
use crate::rt::lock::{Held, Lock};
use crate::sys::NoSignals;

/// Holds the lock of a table, and delays forks. Blocks all signals except faults: a handler that
/// changes a mapping would deadlock with the thread it interrupted. Under a seccomp filter of the
/// program it blocks none.
#[derive(Debug)]
pub struct TableGuard {
    // Dropped in this order.
    _held: Held<'static>,
    _pass: Pass<'static>,
    _quiet: Option<NoSignals>,
}

impl TableGuard {
    /// Waits for the lock.
    pub fn take(lock: &'static Lock) -> TableGuard {
        let quiet = NoSignals::where_allowed();
        let pass = GATE.pass();
        TableGuard {
            _held: lock.lock(),
            _pass: pass,
            _quiet: quiet,
        }
    }
}

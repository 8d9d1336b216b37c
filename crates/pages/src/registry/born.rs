//! When and where memory was made, from which follows who may share it.

use super::witness::Witness;
use crate::rt::fork_gate;
use crate::sys;

/// The birth of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Born {
    /// How many forks there had been, and in which process.
    forks: u32,
    pid: u32,
    /// What every process has that was forked since; none where this kernel or
    /// a filter of system calls does not allow it.
    pub(super) witness: Option<Witness>,
}

impl Born {
    pub(super) const NEVER: Born = Born {
        forks: 0,
        pid: 0,
        witness: None,
    };

    /// Just now.
    pub(super) fn now(witness: Option<Witness>) -> Born {
        Born {
            forks: fork_gate::forks(),
            pid: sys::getpid(),
            witness,
        }
    }

    /// Whether a process that was forked since may live. Where the witness does
    /// not know, the first fork is taken for one that still has it.
    pub fn may_have_heirs(&self) -> bool {
        match self.witness.and_then(Witness::processes) {
            Some(processes) => processes > 1,
            None => self.forks != fork_gate::forks() || self.pid != sys::getpid(),
        }
    }
}

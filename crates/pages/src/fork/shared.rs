//! What the forking thread itself, or the kernel for it, writes between the end
//! of `prepare` and the fork: a copy made before would be older than the thread.

use core::ops::Range;

use crate::extent::stacks;
use crate::sys;

/// So much on both sides of where a stack is written.
const AROUND: usize = 64 << 10;

/// Where it writes: its stack, what libc keeps for each thread, and the stack
/// that it has named for handlers of signals.
#[derive(Debug)]
pub(super) struct Shared([usize; 4]);

impl Shared {
    /// Of this thread, whose own stack is at an address.
    pub(super) fn of_thread(stack: usize) -> Shared {
        let signals = sys::signal_stack().unwrap_or(0..0);
        // The kernel begins at the end.
        Shared([stack, sys::thread_name(), signals.start, signals.end])
    }

    /// Whether any of it may lie in a range.
    pub(super) fn meets(&self, range: &Range<usize>) -> bool {
        let is_near = |at: &usize| {
            let start = at.saturating_sub(AROUND);
            start < range.end && range.start < at.saturating_add(AROUND)
        };
        self.0.iter().filter(|at| **at != 0).any(is_near)
    }
}

/// What is copied for the child; the rest it shares.
#[derive(Debug)]
pub(super) enum Copied {
    /// All that can be.
    AllBut(Shared),
    /// Pages that have stacks of other threads, or for their handlers. The kernel writes
    /// to those by itself, and a thread that finds no page for that is lost.
    StacksBut(Shared),
}

impl Copied {
    /// Whether a range is.
    pub(super) fn has(&self, range: &Range<usize>) -> bool {
        match self {
            Copied::AllBut(shared) => !shared.meets(range),
            Copied::StacksBut(shared) => stacks::are_known_in(range) && !shared.meets(range),
        }
    }
}

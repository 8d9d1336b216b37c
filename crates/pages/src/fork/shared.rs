//! What the forking thread itself, or the kernel for it, writes between the end
//! of `prepare` and the fork: a copy made before would be older than the thread.

use core::ops::Range;

use crate::extent::stacks;
use crate::sys;

use super::refused::{self, Try};

/// So much on both sides of where a stack is written, and of what libc keeps.
const AROUND: usize = 64 << 10;

/// What libc needs from the end of `prepare` on. More is not shared where the kernel has
/// refused that, or where others' stacks are.
const LEAST_AROUND: usize = 8 << 10;

/// Where it writes: its stack, what libc keeps for each thread, and the stack
/// that it has named for handlers of signals.
#[derive(Debug)]
pub(super) struct Shared {
    near: [Range<usize>; 3],
    nearest: [Range<usize>; 3],
}

impl Shared {
    /// Of this thread, whose own stack is at an address.
    pub(super) fn of_thread(stack: usize) -> Shared {
        let around = match refused::this_try() {
            Try::First => AROUND,
            Try::Again | Try::Last => LEAST_AROUND,
        };
        Shared {
            near: written(stack, around),
            nearest: written(stack, LEAST_AROUND),
        }
    }

    /// Whether a range is to be shared since some of it may lie there.
    fn meets(&self, range: &Range<usize>) -> bool {
        let parts = match stacks::are_known_in(range) {
            true => &self.nearest,
            false => &self.near,
        };
        let is_met = |part: &Range<usize>| part.start < range.end && range.start < part.end;
        parts.iter().any(is_met)
    }
}

/// What this thread writes, so far around where it certainly does.
fn written(stack: usize, around: usize) -> [Range<usize>; 3] {
    let signals = sys::signal_stack().unwrap_or(0..0);
    // The kernel begins at the end.
    let begun = signals.end.saturating_sub(around).max(signals.start);
    [
        near(stack, around),
        near(sys::thread_name(), around),
        begun..signals.end,
    ]
}

/// So far on both sides of an address, but not beyond the stack of a thread.
fn near(at: usize, around: usize) -> Range<usize> {
    let range = at.saturating_sub(around)..at.saturating_add(around);
    stacks::within_thread(at, range)
}

/// What libc needs of a stack that is used at an address.
pub(super) fn needed_at(stack: usize) -> Range<usize> {
    near(stack, LEAST_AROUND)
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

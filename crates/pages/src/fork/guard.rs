//! Blocks signals and closes the gate from `prepare` to `parent` or `child`.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::rt::fork_gate::GATE;
use crate::sys;

/// Maximum number of guarded forks at the same time.
const MOST: usize = 64;

/// A fork in progress.
struct Place {
    /// The forking thread's ID; 0 for a free slot.
    thread: AtomicUsize,
    /// Its signal mask before the fork.
    signals: AtomicU64,
    /// Whether it closed the gate.
    closed: AtomicBool,
}

static PLACES: [Place; MOST] = [const {
    Place {
        thread: AtomicUsize::new(0),
        signals: AtomicU64::new(0),
        closed: AtomicBool::new(false),
    }
}; MOST];

/// The guard of this thread's fork: an index of `PLACES`.
#[derive(Debug)]
pub(super) struct Guard(usize);

impl Guard {
    /// Sets up the guard. `None`, with nothing done, if all slots are taken.
    pub(super) fn begin() -> Option<Guard> {
        let signals = sys::block_signals(!sys::FAULTS);
        let me = sys::thread_key();
        let take = |place: &Place| {
            let thread = &place.thread;
            thread
                .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        let Some(at) = PLACES.iter().position(take) else {
            sys::set_blocked_signals(signals);
            return None;
        };
        let guard = Guard(at);
        guard.place().signals.store(signals, Ordering::Relaxed);
        guard.place().closed.store(GATE.close(), Ordering::Relaxed);
        Some(guard)
    }

    /// Returns this thread's guard; of two (a signal handler forked during a fork) the last slot's.
    pub(super) fn of_this_thread() -> Option<Guard> {
        let me = sys::thread_key();
        let is_mine = |place: &Place| place.thread.load(Ordering::Relaxed) == me;
        PLACES.iter().rposition(is_mine).map(Guard)
    }

    fn place(&self) -> &'static Place {
        &PLACES[self.0]
    }

    /// Ends the guard in the parent.
    pub(super) fn end(self) {
        if self.place().closed.load(Ordering::Relaxed) {
            GATE.open();
        }
        self.free();
    }

    /// Ends the guard in the child, which has no other threads.
    pub(super) fn end_in_child(self) {
        let me = sys::thread_key();
        for place in &PLACES {
            if place.thread.load(Ordering::Relaxed) != me {
                place.thread.store(0, Ordering::Relaxed);
            }
        }
        self.free();
    }

    fn free(self) {
        let signals = self.place().signals.load(Ordering::Relaxed);
        self.place().thread.store(0, Ordering::Release);
        sys::set_blocked_signals(signals);
    }
}

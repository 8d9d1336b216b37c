//! What holds for a fork that is under way, from the end of `prepare` to the
//! beginning of `parent` and `child`: signals stay out of this thread, and
//! others out of what we hand out, for a moment.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::rt::fork_gate::GATE;
use crate::sys;

/// So many threads at most can be in a fork at the same time.
const MOST: usize = 64;

/// A fork under way.
struct Place {
    /// The thread that forks, by name; 0 for an unused place.
    thread: AtomicUsize,
    /// The signals that it had blocked.
    signals: AtomicU64,
    /// Whether it has closed the gate.
    closed: AtomicBool,
}

static PLACES: [Place; MOST] = [const { Place::none() }; MOST];

/// The fork of this thread that is under way.
#[derive(Debug)]
pub(super) struct Guard(usize);

impl Place {
    const fn none() -> Place {
        Place {
            thread: AtomicUsize::new(0),
            signals: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }
}

impl Guard {
    /// Puts up the guard, the last thing that happens before libc forks. `None`,
    /// with nothing done, where there is no place for it.
    pub(super) fn put_up() -> Option<Guard> {
        let signals = sys::block_signals(!sys::FAULTS);
        let me = sys::thread_name();
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

    /// That of the fork which this thread is in; the last one, where a handler of
    /// a signal has forked in the middle of another.
    pub(super) fn of_this_thread() -> Option<Guard> {
        let me = sys::thread_name();
        let is_mine = |place: &Place| place.thread.load(Ordering::Relaxed) == me;
        PLACES.iter().rposition(is_mine).map(Guard)
    }

    fn place(&self) -> &'static Place {
        &PLACES[self.0]
    }

    /// Whether the gate is closed: nobody else changes what we hand out, and
    /// there is one such fork at a time.
    pub(super) fn has_closed(&self) -> bool {
        self.place().closed.load(Ordering::Relaxed)
    }

    /// Takes down the guard, in the parent.
    pub(super) fn take_down(self) {
        if self.has_closed() {
            GATE.open();
        }
        self.free();
    }

    /// The same in the child, where there are no other threads.
    pub(super) fn take_down_in_child(self) {
        let me = sys::thread_name();
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

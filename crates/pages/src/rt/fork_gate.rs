//! A gate that a fork closes. A thread passes it to change memory that we handed out, or to take a
//! lock of mimalloc's.
//!
//! A closed gate only delays: threads pass `PASS_TIMEOUT` after its closing, since the closer may be
//! waiting for a lock of libc that one of them holds. The closer passes at once; so does a thread
//! that is inside already, if its ID is recorded.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::rt::wait_queue::WaitQueue;
use crate::sys;

/// Maximum number of entries recorded by thread ID; more are only counted.
const MAX_IDS: usize = 64;

/// How long (ms) after its closing a gate stops threads. A child may block in malloc if its fork
/// takes longer.
const PASS_TIMEOUT: u64 = 200;

/// How long (ms) the closer waits for threads inside: they may be filling gigabytes, or
/// be stopped.
const CLOSE_TIMEOUT: u64 = 2000;

/// A gate.
#[derive(Debug)]
pub struct Gate {
    /// ID of the closing thread; 0 while the gate is open.
    closer: AtomicUsize,
    /// Monotonic time (ms) of the last closing.
    closed_at: AtomicU64,
    /// IDs of threads inside, once per entry. A counter beside them would be wrong for a thread
    /// that a signal interrupts while it enters or leaves.
    ids: [AtomicUsize; MAX_IDS],
    /// Number of entries without a recorded ID.
    without_id: AtomicU32,
    wait_queue: WaitQueue,
}

/// A passage through a [`Gate`].
#[derive(Debug)]
pub struct Pass<'a>(&'a Gate);

/// The gate around changes of extents and of tables.
pub static GATE: Gate = Gate::new();

impl Gate {
    const fn new() -> Gate {
        Gate {
            closer: AtomicUsize::new(0),
            closed_at: AtomicU64::new(0),
            ids: [const { AtomicUsize::new(0) }; MAX_IDS],
            without_id: AtomicU32::new(0),
            wait_queue: WaitQueue::new(),
        }
    }

    /// Enters, until the result is dropped.
    pub fn pass(&self) -> Pass<'_> {
        self.enter();
        Pass(self)
    }

    /// Enters, until [`Gate::leave`]; while another thread keeps the gate closed, waits first.
    pub fn enter(&self) {
        let me = sys::thread_key();
        let is_inside = self.is_inside(me);
        self.count_in(me);
        if !is_inside && self.is_closed_by_another(me) {
            self.wait_outside(me);
        }
    }

    /// Leaves after [`Gate::enter`].
    pub fn leave(&self) {
        self.count_out(sys::thread_key());
        if !self.is_open() {
            self.wait_queue.wake_all();
        }
    }

    #[cold]
    fn wait_outside(&self, me: usize) {
        let end = self.closed_at.load(Ordering::SeqCst) + PASS_TIMEOUT;
        loop {
            self.count_out(me);
            self.wait_queue.wake_all();
            let left = end.saturating_sub(sys::now());
            let opened = self.wait_queue.wait_for(left, || self.is_open());
            self.count_in(me);
            // The next fork may have closed the gate again, before it could see this entry.
            if !opened || !self.is_closed_by_another(me) {
                return;
            }
        }
    }

    fn count_in(&self, me: usize) {
        if !self.ids.iter().any(|id| change(id, 0, me)) {
            self.without_id.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn count_out(&self, me: usize) {
        if !self.ids.iter().any(|id| change(id, me, 0)) {
            let one_less = |count: u32| count.checked_sub(1);
            // A forked child has reset the count.
            let _ = (self.without_id).fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        }
    }

    fn is_open(&self) -> bool {
        self.closer.load(Ordering::SeqCst) == 0
    }

    fn is_closed_by_another(&self, me: usize) -> bool {
        let closer = self.closer.load(Ordering::SeqCst);
        closer != 0 && closer != me
    }

    fn is_inside(&self, me: usize) -> bool {
        let is_mine = |id: &AtomicUsize| id.load(Ordering::Relaxed) == me;
        self.ids.iter().any(is_mine)
    }

    fn has_no_other(&self, me: usize) -> bool {
        let is_other = |id: &AtomicUsize| {
            let id = id.load(Ordering::SeqCst);
            id != 0 && id != me
        };
        self.without_id.load(Ordering::SeqCst) == 0 && !self.ids.iter().any(is_other)
    }

    /// Closes the gate and waits for at most `CLOSE_TIMEOUT` until it is empty. Returns `false`,
    /// with nothing closed, if this thread is inside (a signal interrupted it) or another thread
    /// keeps the gate closed for `CLOSE_TIMEOUT`.
    pub fn close(&self) -> bool {
        let me = sys::thread_key();
        if self.is_inside(me) {
            return false;
        }
        let take = || {
            if self.is_open() {
                // First the time: who sees the closer sees it.
                self.closed_at.store(sys::now(), Ordering::SeqCst);
            }
            change(&self.closer, 0, me)
        };
        let taken = self.wait_queue.wait_for(CLOSE_TIMEOUT, take);
        if taken {
            self.wait_queue
                .wait_for(CLOSE_TIMEOUT, || self.has_no_other(me));
        }
        taken
    }

    /// Whether this thread has closed the gate.
    pub fn is_closed_by_this_thread(&self) -> bool {
        self.closer.load(Ordering::SeqCst) == sys::thread_key()
    }

    /// Opens the gate.
    pub fn open(&self) {
        self.closer.store(0, Ordering::SeqCst);
        self.wait_queue.wake_all();
    }

    /// Resets the gate in the child of a fork, except what this thread did.
    pub fn forget_others(&self) {
        let me = sys::thread_key();
        for id in &self.ids {
            if id.load(Ordering::Relaxed) != me {
                id.store(0, Ordering::Relaxed);
            }
        }
        self.without_id.store(0, Ordering::SeqCst);
        if !self.is_closed_by_this_thread() {
            self.closer.store(0, Ordering::SeqCst);
        }
    }
}

fn change(word: &AtomicUsize, from: usize, to: usize) -> bool {
    word.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed)
        .is_ok()
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Number of forks prepared by this process and its ancestors.
pub fn forks() -> u32 {
    COUNT.load(Ordering::Acquire)
}

/// Counts a fork that is about to happen.
pub fn note_fork() {
    COUNT.fetch_add(1, Ordering::AcqRel);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_closed_gate_delays_threads() {
        static GATE: Gate = Gate::new();
        static INSIDE: AtomicUsize = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let _outer = GATE.pass();
                        let _inner = GATE.pass();
                        INSIDE.fetch_add(1, Ordering::SeqCst);
                        INSIDE.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let begun = Instant::now();
                        assert!(GATE.close());
                        let inside = || INSIDE.load(Ordering::SeqCst);
                        let is_empty = (0..20).all(|_| {
                            std::thread::yield_now();
                            inside() == 0
                        });
                        let is_over = begun.elapsed() >= Duration::from_millis(PASS_TIMEOUT);
                        GATE.open();
                        // A loaded machine may take longer than PASS_TIMEOUT.
                        assert!(is_empty || is_over);
                    }
                });
            }
        });
        assert!(GATE.has_no_other(0));
    }

    #[test]
    fn a_thread_inside_cannot_close() {
        let gate = Gate::new();
        let pass = gate.pass();
        assert!(!gate.close());
        gate.forget_others();
        assert!(!gate.close());
        drop(pass);
        assert!(gate.close());
        drop(gate.pass());
        assert!(gate.has_no_other(0));
    }

    #[test]
    fn a_thread_passes_after_the_timeout() {
        let gate = Gate::new();
        assert!(gate.close());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let outer = gate.pass();
                let inner = gate.pass();
                drop((outer, inner));
            });
        });
        gate.open();
        assert!(gate.has_no_other(0));
    }
}

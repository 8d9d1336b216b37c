//! A gate that many may pass and one may close: whoever changes the memory
//! that we hand out passes it, a fork closes it.
//!
//! A closed gate is a request, not a wall. Whoever finds it closed waits a
//! moment and then goes through all the same, since the one who has closed it
//! may be waiting for a lock of libc's that this very thread holds. The closer
//! itself goes through at once, and so does who is inside already.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::rt::bell::Bell;
use crate::sys;

/// So many threads inside are known by name; more are only counted.
const NAMES: usize = 64;

/// How long (ms) a thread blocks on a closed gate: a fork is done in that time,
/// unless it waits itself.
const MOMENT: u64 = 10;

/// How long (ms) the closer waits for those inside: they may be filling gigabytes,
/// but one of them may have been stopped, too.
const PATIENCE: u64 = 2000;

/// See the module.
#[derive(Debug)]
pub struct Gate {
    /// The thread that has closed it, by name; 0 while it is open.
    closer: AtomicUsize,
    /// Who is inside: a name for each time. What is counted besides would not be right for a thread that a signal has
    /// interrupted in the middle of going in or out.
    names: [AtomicUsize; NAMES],
    /// How many are inside without a name.
    unnamed: AtomicU32,
    bell: Bell,
}

/// Being inside of a [`Gate`].
#[derive(Debug)]
pub struct Pass<'a>(&'a Gate);

/// Passed by whoever changes what stands behind extents, closed by a fork.
pub static GATE: Gate = Gate::new();

impl Gate {
    /// An open gate with nobody inside.
    pub const fn new() -> Gate {
        Gate {
            closer: AtomicUsize::new(0),
            names: [const { AtomicUsize::new(0) }; NAMES],
            unnamed: AtomicU32::new(0),
            bell: Bell::new(),
        }
    }

    /// Enters, once the gate is open or a moment is over.
    pub fn pass(&self) -> Pass<'_> {
        self.enter();
        Pass(self)
    }

    /// Enters as [`Gate::pass`] does, to be left by [`Gate::leave`].
    pub fn enter(&self) {
        let me = sys::thread_name();
        let is_inside = self.is_inside(me);
        self.count_in(me);
        let closer = self.closer.load(Ordering::SeqCst);
        if closer != 0 && closer != me && !is_inside {
            self.wait_outside(me);
        }
    }

    #[cold]
    fn wait_outside(&self, me: usize) {
        self.count_out(me);
        self.bell.ring();
        self.bell.wait_for(MOMENT, || self.is_open());
        self.count_in(me);
    }

    /// Leaves after [`Gate::enter`].
    pub fn leave(&self) {
        self.count_out(sys::thread_name());
        if !self.is_open() {
            self.bell.ring();
        }
    }

    fn count_in(&self, me: usize) {
        if !self.names.iter().any(|name| change(name, 0, me)) {
            self.unnamed.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn count_out(&self, me: usize) {
        if !self.names.iter().any(|name| change(name, me, 0)) {
            let one_less = |count: u32| count.checked_sub(1);
            // Nobody is counted who was inside in the parent of a fork.
            let _ = (self.unnamed).fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        }
    }

    fn is_open(&self) -> bool {
        self.closer.load(Ordering::SeqCst) == 0
    }

    fn is_inside(&self, me: usize) -> bool {
        let is_mine = |name: &AtomicUsize| name.load(Ordering::Relaxed) == me;
        self.names.iter().any(is_mine)
    }

    /// Whether nobody is inside but this thread.
    fn has_no_other(&self, me: usize) -> bool {
        let is_other = |name: &AtomicUsize| {
            let name = name.load(Ordering::SeqCst);
            name != 0 && name != me
        };
        self.unnamed.load(Ordering::SeqCst) == 0 && !self.names.iter().any(is_other)
    }

    /// Closes the gate and waits until nobody is inside, or patience is over.
    /// `false`, with nothing closed, where this very thread is inside: it was
    /// interrupted by a signal, and would wait for itself; or where another
    /// thread has it closed and does not open it.
    pub fn close(&self) -> bool {
        let me = sys::thread_name();
        if self.is_inside(me) {
            return false;
        }
        let taken = (self.bell).wait_for(PATIENCE, || change(&self.closer, 0, me));
        if taken {
            self.bell.wait_for(PATIENCE, || self.has_no_other(me));
        }
        taken
    }

    /// Whether nobody is inside just now.
    pub fn is_empty(&self) -> bool {
        self.has_no_other(0)
    }

    /// Opens the gate again.
    pub fn open(&self) {
        self.closer.store(0, Ordering::SeqCst);
        self.bell.ring();
    }

    /// In the child of a fork: only this thread has come along.
    pub fn forget_others(&self) {
        let me = sys::thread_name();
        for name in &self.names {
            if name.load(Ordering::Relaxed) != me {
                name.store(0, Ordering::Relaxed);
            }
        }
        self.unnamed.store(0, Ordering::SeqCst);
        self.closer.store(0, Ordering::SeqCst);
    }
}

/// Changes a word that is `from`; whether it was.
fn change(word: &AtomicUsize, from: usize, to: usize) -> bool {
    word.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed)
        .is_ok()
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// How many forks there were, or are about to be.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// How many forks this process has prepared, or was made by.
pub fn forks() -> u32 {
    COUNT.load(Ordering::Acquire)
}

/// Notes one more, which is about to be.
pub fn note_fork() {
    COUNT.fetch_add(1, Ordering::AcqRel);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_closed_gate_is_passed_by_nobody_for_a_moment() {
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
                        let inside = INSIDE.load(Ordering::SeqCst);
                        let is_over = begun.elapsed() >= Duration::from_millis(MOMENT);
                        GATE.open();
                        // A thread may have had to wait for a processor as long as that.
                        assert!(inside == 0 || is_over);
                    }
                });
            }
        });
        assert!(GATE.is_empty());
    }

    #[test]
    fn nobody_waits_for_itself() {
        let gate = Gate::new();
        let pass = gate.pass();
        assert!(!gate.close());
        gate.forget_others();
        assert!(!gate.close());
        drop(pass);
        assert!(gate.close());
        drop(gate.pass());
        assert!(gate.is_empty());
    }

    #[test]
    fn who_has_waited_goes_through() {
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
        assert!(gate.is_empty());
    }
}

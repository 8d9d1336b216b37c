//! A gate that many may pass and one may close: whoever changes the memory
//! that we hand out passes it, a fork closes it.
//!
//! A closed gate is a request, not a wall. Whoever finds it closed waits a
//! moment and then goes through all the same, since the one who has closed it
//! may be waiting for a lock of libc's that this very thread holds. The closer
//! itself goes through at once, and so does who is inside already.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::rt::bell::Bell;
use crate::sys;

/// So many threads inside are known by name; more are only counted.
const NAMES: usize = 64;

/// In a name: its thread is not inside just now, but waits to go in.
const OUT: usize = 1;

/// So long waits, in milliseconds, who finds the gate closed: a fork is done in
/// that time, unless it waits itself.
const MOMENT: u64 = 10;

/// So long waits, in milliseconds, who closes the gate, for those inside: they
/// may be filling gigabytes, but one of them may have been stopped, too.
const PATIENCE: u64 = 2000;

/// A closer that does its own work, or another one each time, is waited for so many times
/// as long as one that may be waiting for a lock of the waiter's.
const MORE: u64 = 30;

/// See the module.
#[derive(Debug)]
pub struct Gate {
    /// The thread that has closed it, by name; 0 while it is open.
    closer: AtomicUsize,
    /// Whether the closer does work of ours, which waits for no lock of others.
    at_work: AtomicBool,
    /// How often it was closed and opened.
    turns: AtomicU32,
    /// Who is inside, or waits: a name for each time. Names are even. What is
    /// counted besides would not be right for a thread that a signal has
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
            at_work: AtomicBool::new(false),
            turns: AtomicU32::new(0),
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
        if !self.names.iter().any(|name| change(name, 0, me)) {
            self.unnamed.fetch_add(1, Ordering::SeqCst);
        }
        let closer = self.closer.load(Ordering::SeqCst);
        if closer != 0 && closer != me && !is_inside {
            self.wait_outside(me);
        }
    }

    #[cold]
    fn wait_outside(&self, me: usize) {
        // Any of its names: a handler of a signal may have left by another.
        let out = self.names.iter().find(|name| change(name, me, me | OUT));
        if out.is_none() {
            self.count_out();
        }
        self.bell.ring();
        self.bell.wait_for(MOMENT, || self.is_open());
        match out {
            Some(name) => name.store(me, Ordering::SeqCst),
            None => drop(self.unnamed.fetch_add(1, Ordering::SeqCst)),
        }
    }

    /// Leaves after [`Gate::enter`].
    pub fn leave(&self) {
        let me = sys::thread_name();
        if !self.names.iter().any(|name| change(name, me, 0)) {
            self.count_out();
        }
        if !self.is_open() {
            self.bell.ring();
        }
    }

    fn count_out(&self) {
        let one_less = |count: u32| count.checked_sub(1);
        // Nobody is counted who was inside in the parent of a fork.
        let _ = (self.unnamed).fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
    }

    fn is_open(&self) -> bool {
        self.closer.load(Ordering::SeqCst) == 0
    }

    fn is_inside(&self, me: usize) -> bool {
        let is_mine = |name: &AtomicUsize| name.load(Ordering::Relaxed) & !OUT == me;
        self.names.iter().any(is_mine)
    }

    /// Whether a thread with such a name waits until it is open.
    pub fn is_waited_at_by(&self, is_meant: impl Fn(usize) -> bool) -> bool {
        let names = self.names.iter().map(|name| name.load(Ordering::SeqCst));
        let mut waiting = names.filter(|name| name & OUT != 0);
        waiting.any(|name| is_meant(name & !OUT))
    }

    /// Whether nobody is inside but this thread.
    fn has_no_other(&self, me: usize) -> bool {
        let is_other = |name: &AtomicUsize| {
            let name = name.load(Ordering::SeqCst);
            name != 0 && name != me && name & OUT == 0
        };
        self.unnamed.load(Ordering::SeqCst) == 0 && !self.names.iter().any(is_other)
    }

    fn take(&self, me: usize) -> bool {
        let taken = change(&self.closer, 0, me);
        if taken {
            self.turns.fetch_add(1, Ordering::Relaxed);
            self.at_work.store(true, Ordering::Relaxed);
        }
        taken
    }

    /// Takes it, once it is open. Where there are many forks, or large ones, or little
    /// time for them, that may last: a fork that does not wait would have its child find
    /// what the other one has kept from its own. But the closer may wait, in libc, for a
    /// lock that this thread holds: then it is waited for so many milliseconds. Not for
    /// who is inside: the closer's own work may wait for what that one is at.
    fn take_in_turn(&self, me: usize, milliseconds: u64) -> bool {
        let last = sys::now() + milliseconds.saturating_mul(MORE);
        loop {
            let turns = self.turns.load(Ordering::Relaxed);
            if self.bell.wait_for(milliseconds, || self.take(me)) {
                return true;
            }
            let goes_on =
                self.at_work.load(Ordering::Relaxed) || self.turns.load(Ordering::Relaxed) != turns;
            if !goes_on || sys::now() >= last {
                return false;
            }
        }
    }

    /// The closer does no work of ours until [`Gate::go_on`]: libc forks.
    pub fn leave_to_libc(&self) {
        self.at_work.store(false, Ordering::Relaxed);
    }

    /// The closer does work of ours again.
    pub fn go_on(&self) {
        self.at_work.store(true, Ordering::Relaxed);
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
        let taken = self.take_in_turn(me, PATIENCE);
        if taken {
            self.bell.wait_for(PATIENCE, || self.has_no_other(me));
        }
        taken
    }

    /// Closes the gate for a handler that has interrupted this thread inside, or
    /// for who has waited in vain: others inside are waited for no longer than a
    /// moment, and another closer so many milliseconds; this thread is none whom
    /// that one waits for meanwhile. Whether it is closed.
    pub fn close_at_once(&self, milliseconds: u64) -> bool {
        let me = sys::thread_name();
        let wait = || self.bell.wait_for(milliseconds, || self.take(me));
        let taken = self.take(me) || self.not_inside(me, wait);
        if taken {
            self.bell.wait_for(MOMENT, || self.has_no_other(me));
        }
        taken
    }

    /// Runs `wait` while this thread, which is inside, counts as one that is not.
    fn not_inside<R>(&self, me: usize, wait: impl FnOnce() -> R) -> R {
        let mut out = [false; NAMES];
        for (name, out) in self.names.iter().zip(&mut out) {
            *out = change(name, me, me | OUT);
        }
        self.bell.ring();
        let result = wait();
        for (name, _) in self.names.iter().zip(&out).filter(|(_, out)| **out) {
            name.store(me, Ordering::SeqCst);
        }
        result
    }

    /// Whether nobody is inside just now.
    pub fn is_empty(&self) -> bool {
        self.has_no_other(0)
    }

    /// Opens the gate again.
    pub fn open(&self) {
        self.at_work.store(false, Ordering::Relaxed);
        self.closer.store(0, Ordering::SeqCst);
        self.bell.ring();
    }

    /// In the child of a fork: only this thread has come along.
    pub fn forget_others(&self) {
        let me = sys::thread_name();
        for name in &self.names {
            if name.load(Ordering::Relaxed) & !OUT != me {
                name.store(0, Ordering::Relaxed);
            }
        }
        self.unnamed.store(0, Ordering::SeqCst);
        self.at_work.store(false, Ordering::Relaxed);
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
    fn a_handler_may_close_it_from_inside() {
        let gate = Gate::new();
        let pass = gate.pass();
        assert!(gate.close_at_once(0));
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(!gate.close_at_once(1)));
        });
        gate.open();
        drop(pass);
        assert!(gate.is_empty() && gate.close());
    }

    /// What the child of a fork that does not wait would find is not its own.
    #[test]
    fn a_closer_at_work_is_waited_for() {
        let gate = Gate::new();
        assert!(gate.close());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| gate.take_in_turn(sys::thread_name(), 20));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!other.is_finished());
            gate.open();
            assert!(other.join().unwrap());
        });
        let me = gate.closer.swap(sys::thread_name(), Ordering::SeqCst);
        assert_ne!(me, sys::thread_name());
        gate.leave_to_libc();
        std::thread::scope(|scope| {
            let begun = Instant::now();
            let other = scope.spawn(|| gate.take_in_turn(sys::thread_name(), 20));
            assert!(!other.join().unwrap() && begun.elapsed().as_millis() < 400);
        });
    }

    /// A thread that waits outside is interrupted, and its handler forks.
    #[test]
    fn who_waits_outside_is_not_counted_twice() {
        let gate = Gate::new();
        assert!(gate.close());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let me = sys::thread_name();
                gate.names[0].store(me | OUT, Ordering::SeqCst);
                assert!(!gate.close() && !gate.close_at_once(1));
                drop(gate.pass());
                assert!(gate.is_empty());
                gate.names[0].store(0, Ordering::SeqCst);
            });
        });
        gate.open();
        assert!(gate.is_empty() && gate.close());
    }

    #[test]
    fn who_waits_for_a_closer_is_not_waited_for() {
        let gate = Gate::new();
        let pass = gate.pass();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                assert!(gate.close());
                gate.open();
            });
            while gate.is_open() && !other.is_finished() {
                std::thread::yield_now();
            }
            let begun = Instant::now();
            assert!(gate.close_at_once(PATIENCE));
            assert!(begun.elapsed().as_millis() < u128::from(PATIENCE) / 2);
        });
        gate.open();
        drop(pass);
        assert!(gate.is_empty() && gate.close());
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

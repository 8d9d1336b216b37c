//! A gate that many may pass and one may close: whoever changes the memory
//! that we hand out passes it, a fork closes it.
//!
//! Passing never waits for a closer that has not closed it yet, so that passes
//! may nest.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::sys;

const CLOSED: u32 = u32::MAX;

/// So many threads inside are known by name; more are only counted.
const NAMES: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct Gate {
    /// How many are inside, or [`CLOSED`].
    inside: AtomicU32,
    names: [AtomicUsize; NAMES],
}

/// Being inside of a [`Gate`].
#[derive(Debug)]
pub struct Pass<'a> {
    gate: &'a Gate,
    name: Option<&'a AtomicUsize>,
}

impl Gate {
    /// An open gate with nobody inside.
    pub const fn new() -> Gate {
        Gate {
            inside: AtomicU32::new(0),
            names: [const { AtomicUsize::new(0) }; NAMES],
        }
    }

    /// Enters, once the gate is open.
    pub fn pass(&self) -> Pass<'_> {
        self.enter();
        let me = sys::thread_name();
        let put = |name: &&AtomicUsize| {
            name.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        Pass {
            gate: self,
            name: self.names.iter().find(put),
        }
    }

    /// Enters as [`Gate::pass`] does, to be left by [`Gate::leave`].
    pub fn enter(&self) {
        loop {
            let inside = self.inside.load(Ordering::Relaxed);
            if inside == CLOSED {
                sys::futex_wait(&self.inside, CLOSED);
            } else if self.replace(inside, inside + 1) {
                return;
            }
        }
    }

    /// Leaves after [`Gate::enter`].
    pub fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::Release);
    }

    /// Closes the gate, once nobody is inside. `false` where this very thread
    /// is inside: it was interrupted by a signal, and would wait for itself.
    pub fn close(&self) -> bool {
        let me = sys::thread_name();
        if self
            .names
            .iter()
            .any(|name| name.load(Ordering::Relaxed) == me)
        {
            return false;
        }
        while !self.replace(0, CLOSED) {
            match self.inside.load(Ordering::Relaxed) {
                CLOSED => sys::futex_wait(&self.inside, CLOSED),
                _ => sys::yield_now(),
            }
        }
        true
    }

    /// Opens the gate again.
    pub fn open(&self) {
        self.inside.store(0, Ordering::Release);
        sys::futex_wake(&self.inside);
    }

    /// In the child of a fork before which the gate was not closed: only this
    /// thread has come along.
    pub fn forget_others(&self) {
        let me = sys::thread_name();
        let mut mine = 0;
        for name in &self.names {
            match name.load(Ordering::Relaxed) {
                other if other != me => name.store(0, Ordering::Relaxed),
                _ => mine += 1,
            }
        }
        self.inside.store(mine, Ordering::Release);
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.inside
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name {
            name.store(0, Ordering::Relaxed);
        }
        self.gate.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_is_passed_by_nobody() {
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
                        assert!(GATE.close());
                        assert_eq!(INSIDE.load(Ordering::SeqCst), 0);
                        GATE.open();
                    }
                });
            }
        });
        assert_eq!(GATE.inside.load(Ordering::SeqCst), 0);
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
    }
}

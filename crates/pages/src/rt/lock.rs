//! A lock of one word. The word includes the process's generation, so that a lock held in the
//! parent is free in a forked child.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const CONTENDED: u32 = 2;

/// Mask of the state; the other bits are the generation.
const STATE: u32 = 3;

/// Number of forks from the first process down to this one, in steps of `STATE + 1`.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Frees all locks in the child of a fork.
pub(crate) fn forget_others() {
    GENERATION.fetch_add(STATE + 1, Ordering::Relaxed);
}

/// A lock; all zero is free.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// A held [`Lock`].
#[derive(Debug)]
pub struct Held<'a>(&'a Lock);

impl Lock {
    /// A free lock.
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(FREE))
    }

    /// Takes the lock until the value is dropped.
    pub fn lock(&self) -> Held<'_> {
        self.take();
        Held(self)
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Held<'_>> {
        let now = self.0.load(Ordering::Relaxed);
        let generation = GENERATION.load(Ordering::Relaxed);
        let is_free = now & STATE == FREE || now & !STATE != generation;
        let next = generation | TAKEN;
        let take = || (self.0).compare_exchange(now, next, Ordering::Acquire, Ordering::Relaxed);
        (is_free && take().is_ok()).then_some(Held(self))
    }

    /// Takes the lock.
    pub fn take(&self) {
        let generation = GENERATION.load(Ordering::Relaxed);
        let mut state = TAKEN;
        let mut now = FREE;
        loop {
            let is_free = now & STATE == FREE || now & !STATE != generation;
            let next = generation | if is_free { state } else { CONTENDED };
            if now != next {
                match (self.0).compare_exchange(now, next, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) if is_free => return,
                    Ok(_) => {}
                    Err(other) => {
                        now = other;
                        continue;
                    }
                }
            }
            sys::futex_wait(&self.0, next);
            // Others may be waiting.
            state = CONTENDED;
            now = self.0.load(Ordering::Relaxed);
        }
    }

    /// Releases the lock.
    pub fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) & STATE == CONTENDED {
            sys::futex_wake(&self.0);
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        static LOCK: Lock = Lock::new();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let _held = LOCK.lock();
                        let count = COUNT.load(Ordering::Relaxed);
                        COUNT.store(count + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(COUNT.load(Ordering::Relaxed), 80_000);
    }

    #[test]
    fn a_lock_of_another_process_is_free() {
        let generation = GENERATION.load(Ordering::Relaxed);
        for state in [TAKEN, CONTENDED] {
            let lock = Lock(AtomicU32::new(generation.wrapping_sub(STATE + 1) | state));
            let held = lock.lock();
            assert_eq!(lock.0.load(Ordering::Relaxed), generation | TAKEN);
            drop(held);
            assert_eq!(lock.0.load(Ordering::Relaxed), FREE);
        }
    }
}

//! A lock of one word.
//!
//! The word says in which process it was taken, by how many forks lie between
//! that one and the first: in the child of a fork a lock is free that another
//! thread held, who did not come along.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WAITED_FOR: u32 = 2;

/// What of the word is one of these; the rest is the generation.
const HOW: u32 = 3;

/// How many forks this process is away from the first, in steps beside [`HOW`].
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// In the child of a fork: whoever held a lock did not come along.
pub(crate) fn forget_others() {
    GENERATION.fetch_add(HOW + 1, Ordering::Relaxed);
}

/// A lock; all bits zero are a free one.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock(AtomicU32);

/// Holding a [`Lock`].
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

    /// Takes the lock.
    pub fn take(&self) {
        let generation = GENERATION.load(Ordering::Relaxed);
        let mut how = TAKEN;
        let mut now = FREE;
        loop {
            let is_free = now & HOW == FREE || now & !HOW != generation;
            let next = generation | if is_free { how } else { WAITED_FOR };
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
            // There may be others who wait.
            how = WAITED_FOR;
            now = self.0.load(Ordering::Relaxed);
        }
    }

    /// Gives the lock back.
    pub fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) & HOW == WAITED_FOR {
            sys::futex_wake(&self.0);
        }
    }
}

impl Lock {
    /// Frees the lock, whoever holds it.
    pub fn forget(&self) {
        self.0.store(FREE, Ordering::Release);
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
        for how in [TAKEN, WAITED_FOR] {
            let lock = Lock(AtomicU32::new(generation.wrapping_sub(HOW + 1) | how));
            let held = lock.lock();
            assert_eq!(lock.0.load(Ordering::Relaxed), generation | TAKEN);
            drop(held);
            assert_eq!(lock.0.load(Ordering::Relaxed), FREE);
        }
    }
}

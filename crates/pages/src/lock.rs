//! A lock of one word.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WAITED_FOR: u32 = 2;

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
        let taken = self
            .0
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            while self.0.swap(WAITED_FOR, Ordering::Acquire) != FREE {
                sys::futex_wait(&self.0, WAITED_FOR);
            }
        }
    }

    /// Gives the lock back.
    pub fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) == WAITED_FOR {
            sys::futex_wake(&self.0);
        }
    }

    /// In the child of a fork: whoever held it did not come along.
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
}

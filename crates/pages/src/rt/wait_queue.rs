//! A wait queue on a futex. It never spins: a high-priority thread that spins may keep
//! the thread it waits for off the CPU.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// Longest sleep (ms): the thread that would wake us may not exist in a forked child.
const LONGEST: u64 = 50;

/// Threads that wait for a condition.
#[derive(Debug)]
pub struct WaitQueue {
    /// Number of waiters: waking nobody costs one load.
    waiters: AtomicU32,
    wakeups: AtomicU32,
}

impl WaitQueue {
    /// An empty queue.
    pub(crate) const fn new() -> WaitQueue {
        WaitQueue {
            waiters: AtomicU32::new(0),
            wakeups: AtomicU32::new(0),
        }
    }

    /// Sleeps at most this long; returns true at once if `is_over()`. The condition must
    /// change before the wake-up.
    fn wait(&self, milliseconds: u64, is_over: impl Fn() -> bool) -> bool {
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let wakeups = self.wakeups.load(Ordering::SeqCst);
        let over = is_over();
        if !over {
            sys::futex_wait_for(&self.wakeups, wakeups, milliseconds.min(LONGEST));
        }
        self.waiters.fetch_sub(1, Ordering::SeqCst);
        over
    }

    /// Waits until `is_over()`.
    pub fn wait_until(&self, is_over: impl Fn() -> bool) {
        while !is_over() && !self.wait(LONGEST, &is_over) {}
    }

    /// Waits until `is_over()` or about `milliseconds` have passed; returns whether it is
    /// over. After `true` it is not called again: it may acquire something.
    pub fn wait_for(&self, milliseconds: u64, is_over: impl Fn() -> bool) -> bool {
        if is_over() {
            return true;
        }
        let end = sys::now() + milliseconds;
        loop {
            let now = sys::now();
            if now < end && self.wait(end - now, &is_over) {
                return true;
            }
            if is_over() {
                return true;
            }
            if now >= end {
                return false;
            }
        }
    }

    /// Wakes all waiters.
    pub fn wake_all(&self) {
        if self.waiters.load(Ordering::SeqCst) != 0 {
            self.wakeups.fetch_add(1, Ordering::SeqCst);
            sys::futex_wake(&self.wakeups);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_waiter_is_woken_or_times_out() {
        static QUEUE: WaitQueue = WaitQueue::new();
        static DONE: AtomicBool = AtomicBool::new(false);
        assert!(!QUEUE.wait_for(3, || DONE.load(Ordering::SeqCst)));
        std::thread::scope(|scope| {
            scope.spawn(|| QUEUE.wait_until(|| DONE.load(Ordering::SeqCst)));
            DONE.store(true, Ordering::SeqCst);
            QUEUE.wake_all();
        });
        assert!(QUEUE.wait_for(0, || DONE.load(Ordering::SeqCst)));
        assert_eq!(QUEUE.waiters.load(Ordering::SeqCst), 0);
    }

    /// A condition that acquires something must not acquire it twice.
    #[test]
    fn a_condition_is_not_evaluated_after_true() {
        for free_at in 0..3 {
            let looks = AtomicU32::new(0);
            let take = || looks.fetch_add(1, Ordering::SeqCst) == free_at;
            assert!(WaitQueue::new().wait_for(1000, take), "at look {free_at}");
            let looks = AtomicU32::new(0);
            WaitQueue::new().wait_until(|| looks.fetch_add(1, Ordering::SeqCst) == free_at);
        }
    }
}

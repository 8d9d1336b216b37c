//! Waiting until somebody else has changed something: by sleeping, never by
//! trying again and again. A thread of a high priority that spins keeps the one
//! that it waits for from the processor, for ever.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// So long at most, in milliseconds, does a waiter sleep before it looks again:
/// whoever would have woken it may have stayed behind in the parent of a fork.
const LONGEST: u64 = 50;

/// Rung by whoever changes something.
#[derive(Debug)]
pub struct Bell {
    /// How many wait, so that ringing is one load where nobody does.
    waiting: AtomicU32,
    rings: AtomicU32,
}

impl Bell {
    /// A bell that nobody waits for.
    pub const fn new() -> Bell {
        Bell {
            waiting: AtomicU32::new(0),
            rings: AtomicU32::new(0),
        }
    }

    /// Sleeps until the bell is rung, so many milliseconds at most; not where it
    /// is over by now, which it then says. What is asked for must have been
    /// changed before the ring.
    fn wait(&self, milliseconds: u64, is_over: impl Fn() -> bool) -> bool {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let rings = self.rings.load(Ordering::SeqCst);
        let over = is_over();
        if !over {
            sys::futex_wait_for(&self.rings, rings, milliseconds.min(LONGEST));
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        over
    }

    /// Waits until it is over.
    pub fn wait_until(&self, is_over: impl Fn() -> bool) {
        while !is_over() && !self.wait(LONGEST, &is_over) {}
    }

    /// Waits until it is over, about so many milliseconds at most; whether it is.
    /// It is not asked again once it was over: who asks may have taken what others
    /// want too.
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

    /// Wakes all who wait.
    pub fn ring(&self) {
        if self.waiting.load(Ordering::SeqCst) != 0 {
            self.rings.fetch_add(1, Ordering::SeqCst);
            sys::futex_wake(&self.rings);
        }
    }
}

impl Default for Bell {
    fn default() -> Bell {
        Bell::new()
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn who_waits_is_woken_or_gives_up() {
        static BELL: Bell = Bell::new();
        static DONE: AtomicBool = AtomicBool::new(false);
        assert!(!BELL.wait_for(3, || DONE.load(Ordering::SeqCst)));
        std::thread::scope(|scope| {
            scope.spawn(|| BELL.wait_until(|| DONE.load(Ordering::SeqCst)));
            DONE.store(true, Ordering::SeqCst);
            BELL.ring();
        });
        assert!(BELL.wait_for(0, || DONE.load(Ordering::SeqCst)));
        assert_eq!(BELL.waiting.load(Ordering::SeqCst), 0);
    }

    /// What is taken by asking is taken once, at whichever look it is there.
    #[test]
    fn what_was_over_is_not_asked_again() {
        for free_at in 0..3 {
            let looks = AtomicU32::new(0);
            let take = || looks.fetch_add(1, Ordering::SeqCst) == free_at;
            assert!(Bell::new().wait_for(1000, take), "at look {free_at}");
            let looks = AtomicU32::new(0);
            Bell::new().wait_until(|| looks.fetch_add(1, Ordering::SeqCst) == free_at);
        }
    }
}

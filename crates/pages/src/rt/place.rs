//! Places for memory of our own that one thread uses at a time: mapped when it is first
//! needed, and kept for the process.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys;

/// A place, of a list of them.
#[derive(Debug)]
pub(super) struct Place {
    /// Which thread has it; 0 for none.
    user: AtomicUsize,
    /// The lowest address that can be used; 0 while nothing is mapped. Once it is it stays.
    base: AtomicUsize,
}

impl Place {
    pub(super) const fn none() -> Place {
        Place {
            user: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
        }
    }

    /// One for this thread, with memory of `map`'s; `None` where all are in use, or there is
    /// no memory.
    pub(super) fn take(
        all: &'static [Place],
        map: impl FnOnce() -> Option<usize>,
    ) -> Option<&'static Place> {
        let me = sys::thread_name();
        let is_free = |place: &&Place| {
            let user = &place.user;
            user.load(Ordering::Relaxed) == 0
                && user
                    .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        };
        let place = all.iter().find(is_free)?;
        if place.base() == 0 {
            match map() {
                Some(base) => place.base.store(base, Ordering::Relaxed),
                None => {
                    place.leave();
                    return None;
                }
            }
        }
        Some(place)
    }

    /// Leaves it to others.
    pub(super) fn leave(&self) {
        self.user.store(0, Ordering::Release);
    }

    /// The lowest address that can be used; 0 while nothing is mapped.
    pub(super) fn base(&self) -> usize {
        self.base.load(Ordering::Relaxed)
    }

    /// In the child of a fork: the threads that had the others did not come along.
    pub(super) fn forget_others(all: &[Place]) {
        let me = sys::thread_name();
        for place in all {
            if place.user.load(Ordering::Relaxed) != me {
                place.user.store(0, Ordering::Relaxed);
            }
        }
    }
}

//! What was handed out, by its first address, so that it can be freed by that alone.
//!
//! No locks: each place is taken and given up by one exchange of its first address.

use core::sync::atomic::{AtomicUsize, Ordering};

/// How many are known at once. Of more, those on pages of a pool are found among the mappings
/// of the process.
const PLACES: usize = 256;

struct Place {
    /// 0 in a free place, 1 in one that is being filled.
    start: AtomicUsize,
    len: AtomicUsize,
    /// How far behind the first address a pointer may lie that still means all of it.
    reach: AtomicUsize,
}

static TABLE: [Place; PLACES] = [const {
    Place {
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        reach: AtomicUsize::new(0),
    }
}; PLACES];

const FREE: usize = 0;
const BEING_FILLED: usize = 1;

/// Enters memory; whether there was a place for it.
pub(super) fn enter(start: usize, len: usize, reach: usize) -> bool {
    let take = |place: &&Place| {
        let taken =
            place
                .start
                .compare_exchange(FREE, BEING_FILLED, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    };
    let Some(place) = TABLE.iter().find(take) else {
        return false;
    };
    place.len.store(len, Ordering::Relaxed);
    place.reach.store(reach, Ordering::Relaxed);
    place.start.store(start, Ordering::Release);
    true
}

/// Whether memory with this first address is known.
pub(super) fn knows(start: usize) -> bool {
    TABLE
        .iter()
        .any(|place| place.start.load(Ordering::Acquire) == start)
}

/// Takes out what begins at an address, or, where `shifted`, has it within its reach: where
/// it begins, and its length.
pub(super) fn take(addr: usize, shifted: bool) -> Option<(usize, usize)> {
    TABLE.iter().find_map(|place| {
        let start = place.start.load(Ordering::Acquire);
        if start <= BEING_FILLED {
            return None;
        }
        let reach = match shifted {
            true => place.reach.load(Ordering::Relaxed),
            false => 1,
        };
        let len = place.len.load(Ordering::Relaxed);
        let is_meant = addr.wrapping_sub(start) < reach;
        let taken = is_meant.then(|| {
            place
                .start
                .compare_exchange(start, FREE, Ordering::AcqRel, Ordering::Relaxed)
        });
        matches!(taken, Some(Ok(_))).then_some((start, len))
    })
}

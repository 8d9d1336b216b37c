//! Regions in use, by address. No locks: one exchange of a slot's address takes or frees it.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of regions.
const PLACES: usize = 4096;

struct Place {
    /// Address; 0 in a free slot, 1 while it is filled.
    start: AtomicUsize,
    len: AtomicUsize,
    /// Bytes from the start in which a pointer means this region (cache colouring).
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

/// Adds a region that was mapped just now; returns whether there was a slot.
pub(super) fn insert(start: usize, len: usize, reach: usize) -> bool {
    drop_stale(start, len);
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

/// Frees the slots of regions that the program has unmapped or moved: a new mapping is there now.
fn drop_stale(start: usize, len: usize) {
    for place in &TABLE {
        let old = place.start.load(Ordering::Acquire);
        let old_end = old.saturating_add(place.len.load(Ordering::Relaxed));
        if old > BEING_FILLED && old < start + len && start < old_end {
            let _ = (place.start).compare_exchange(old, FREE, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// Removes the region that begins at an address or, if `shifted`, has it within its reach; returns
/// its start and length.
pub(super) fn remove(addr: usize, shifted: bool) -> Option<(usize, usize)> {
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

//! Table of the regions in use. Lock-free: a compare-exchange of its address takes or frees a slot.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of regions.
const SLOTS: usize = 4096;

struct Slot {
    /// Address; 0 in a free slot, 1 while it is filled.
    start: AtomicUsize,
    len: AtomicUsize,
    /// Bytes by which cache colouring may shift the pointer to this region.
    reach: AtomicUsize,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        reach: AtomicUsize::new(0),
    }
}; SLOTS];

const FREE: usize = 0;
const BEING_FILLED: usize = 1;

/// Adds a new region; returns whether a slot was free.
pub(super) fn insert(start: usize, len: usize, reach: usize) -> bool {
    drop_stale(start, len);
    let take = |slot: &&Slot| {
        let taken =
            slot.start
                .compare_exchange(FREE, BEING_FILLED, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    };
    let Some(slot) = TABLE.iter().find(take) else {
        return false;
    };
    slot.len.store(len, Ordering::Relaxed);
    slot.reach.store(reach, Ordering::Relaxed);
    slot.start.store(start, Ordering::Release);
    true
}

/// Frees the slots of regions that overlap the new mapping: the program has unmapped or moved them.
fn drop_stale(start: usize, len: usize) {
    for slot in &TABLE {
        let old = slot.start.load(Ordering::Acquire);
        let old_end = old.saturating_add(slot.len.load(Ordering::Relaxed));
        if old > BEING_FILLED && old < start + len && start < old_end {
            let _ = (slot.start).compare_exchange(old, FREE, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// Removes the region at `addr`, which may be shifted by less than `reach` if `shifted`. Returns its
/// start and length.
pub(super) fn remove(addr: usize, shifted: bool) -> Option<(usize, usize)> {
    TABLE.iter().find_map(|slot| {
        let start = slot.start.load(Ordering::Acquire);
        if start <= BEING_FILLED {
            return None;
        }
        let reach = match shifted {
            true => slot.reach.load(Ordering::Relaxed),
            false => 1,
        };
        let len = slot.len.load(Ordering::Relaxed);
        let is_match = addr.wrapping_sub(start) < reach;
        let taken = is_match.then(|| {
            slot.start
                .compare_exchange(start, FREE, Ordering::AcqRel, Ordering::Relaxed)
        });
        matches!(taken, Some(Ok(_))).then_some((start, len))
    })
}

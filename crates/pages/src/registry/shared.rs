//! The table of shared memory on hugetlb pages.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::region::{Backing, Creation, Region};
use crate::rt::lock::Lock;
use crate::rt::table_guard::TableGuard;

/// Maximum number of regions. Further mappings get no pool pages; calls on further System V
/// segments go to the kernel unchanged.
const SLOTS: usize = 256;

struct Table {
    lock: Lock,
    regions: core::cell::UnsafeCell<[Region; SLOTS]>,
}

#[expect(unsafe_code, reason = "shares the table between threads")]
// SAFETY: only `LockedTable`, which holds the lock, reaches the table.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    lock: Lock::new(),
    regions: core::cell::UnsafeCell::new([Region::UNUSED; SLOTS]),
};

/// Mapped range of each region for readers without the lock; an unused slot ends at 0. A split
/// adds the upper part before it shrinks the lower one, so that readers rarely miss an address.
static BOUNDS: [(AtomicUsize, AtomicUsize); SLOTS] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; SLOTS];

/// Number of slots up to the last that was ever used.
static USED_SLOTS: AtomicUsize = AtomicUsize::new(0);

/// Whether a region may overlap the range. Takes no lock.
pub fn overlaps(range: &Range<usize>) -> bool {
    let used = USED_SLOTS.load(Ordering::Acquire);
    BOUNDS[..used].iter().any(|(base, end)| {
        let end = end.load(Ordering::Acquire);
        range.start < end && base.load(Ordering::Acquire) < range.end
    })
}

/// Whether the table ever had a region.
pub fn was_ever_used() -> bool {
    USED_SLOTS.load(Ordering::Acquire) != 0
}

/// The locked table.
#[derive(Debug)]
pub struct LockedTable(#[expect(dead_code, reason = "held until it is dropped")] TableGuard);

/// Locks the table.
pub fn lock_table() -> LockedTable {
    LockedTable(TableGuard::take(&TABLE.lock))
}

impl LockedTable {
    #[expect(unsafe_code, reason = "reaches into the table")]
    fn regions(&mut self) -> &mut [Region; SLOTS] {
        // SAFETY: the lock is held as long as `self` lives.
        unsafe { &mut *TABLE.regions.get() }
    }

    /// Adds a new mapping; returns whether there was a slot.
    pub fn add(
        &mut self,
        base: usize,
        (len, mapped, page): (usize, usize, usize),
        prot: i32,
        backing: Backing,
    ) -> bool {
        static LAST_ORIGIN: AtomicU32 = AtomicU32::new(0);
        self.insert(Region {
            base,
            len,
            mapped,
            page,
            prot,
            origin: LAST_ORIGIN.fetch_add(1, Ordering::Relaxed) + 1,
            origin_len: len,
            backing,
            creation: Creation::now(),
            ..Region::UNUSED
        })
    }

    fn insert(&mut self, region: Region) -> bool {
        let slot = self.regions().iter().position(|region| region.base == 0);
        let Some(slot) = slot else {
            return false;
        };
        self.set(slot, region);
        true
    }

    fn set(&mut self, slot: usize, region: Region) {
        self.regions()[slot] = region;
        let (base, end) = &BOUNDS[slot];
        if region.base == 0 {
            end.store(0, Ordering::Release);
            return;
        }
        base.store(region.base, Ordering::Release);
        end.store(region.mapped().end, Ordering::Release);
        USED_SLOTS.fetch_max(slot + 1, Ordering::AcqRel);
    }

    /// Whether `count` slots are free.
    pub fn has_slots(&mut self, count: usize) -> bool {
        let free = self.regions().iter().filter(|region| region.base == 0);
        free.take(count).count() == count
    }

    /// The lowest region that overlaps the range.
    pub fn first(&mut self, range: &Range<usize>) -> Option<Region> {
        self.find(|region| region.base < range.end && range.start < region.mapped().end)
    }

    /// The lowest region that `is_wanted` accepts.
    pub fn find(&mut self, is_wanted: impl Fn(&Region) -> bool) -> Option<Region> {
        let found = self.regions().iter();
        let found = found.filter(|region| region.base != 0 && is_wanted(region));
        found.min_by_key(|region| region.base).copied()
    }

    /// Replaces the region at `base`, or removes it.
    pub fn update(&mut self, base: usize, region: Option<Region>) {
        let slot = self.regions().iter().position(|region| region.base == base);
        if let Some(slot) = slot {
            self.set(slot, region.unwrap_or(Region::UNUSED));
        }
    }

    /// Splits a range of whole huge pages off a region; returns it. Takes up to two slots.
    pub fn isolate(&mut self, region: Region, range: &Range<usize>) -> Region {
        let mut middle = region;
        if range.start > middle.base {
            let (before, after) = middle.split_at(range.start);
            self.insert(after);
            self.update(before.base, Some(before));
            middle = after;
        }
        if range.end < middle.mapped().end {
            let (before, after) = middle.split_at(range.end);
            self.insert(after);
            self.update(before.base, Some(before));
            middle = before;
        }
        middle
    }

    /// Calls `visit` for each region.
    pub fn each(&mut self, visit: impl FnMut(&Region)) {
        let used = self.regions().iter().filter(|region| region.base != 0);
        used.for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 2 << 20;

    #[test]
    fn pieces_are_found_without_the_lock() {
        let base = 1 << 40;
        let mut table = lock_table();
        let shape = (4 * PAGE - 4096, 4 * PAGE, PAGE);
        assert!(table.add(base, shape, 3, Backing::Anonymous));
        let region = table.first(&(base..base + 1)).unwrap();
        let middle = base + PAGE..base + 2 * PAGE;
        let piece = table.isolate(region, &middle);
        assert_eq!(piece.mapped(), middle);
        table.update(piece.base, None);
        assert!(overlaps(&(base..base + 1)) && !overlaps(&middle));
        assert!(overlaps(&(base + 4 * PAGE - 1..base + 4 * PAGE)));
        let last = table.first(&(middle.end..middle.end + 1)).unwrap();
        assert_eq!((last.len, last.offset), (2 * PAGE - 4096, 2 * PAGE));
        assert_eq!(last.origin_start(), base);
        for base in [base, middle.end] {
            table.update(base, None);
        }
        assert!(!overlaps(&(base..base + 4 * PAGE)));
    }
}

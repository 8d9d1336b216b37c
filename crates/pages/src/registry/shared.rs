//! The table of shared memory on hugetlb pages.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::region::{Backing, Born, Region};
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
// SAFETY: only `Open`, which holds the lock, reaches the table.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    lock: Lock::new(),
    regions: core::cell::UnsafeCell::new([Region::UNUSED; SLOTS]),
};

/// Mapped range of each region for readers without the lock; the end is 0 if unused. A
/// split adds the upper half before it shrinks the lower, so readers rarely miss an address.
static BOUNDS: [(AtomicUsize, AtomicUsize); SLOTS] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; SLOTS];

/// Index after the last slot ever used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Whether a region may overlap the range. Takes no lock.
pub fn overlaps(range: &Range<usize>) -> bool {
    let used = USED.load(Ordering::Acquire);
    BOUNDS[..used].iter().any(|(base, end)| {
        let end = end.load(Ordering::Acquire);
        range.start < end && base.load(Ordering::Acquire) < range.end
    })
}

/// Whether there ever was a region.
pub fn had_any() -> bool {
    USED.load(Ordering::Acquire) != 0
}

/// The locked table.
#[derive(Debug)]
pub struct Open(#[expect(dead_code, reason = "held until it is dropped")] TableGuard);

/// Locks the table.
pub fn open() -> Open {
    Open(TableGuard::take(&TABLE.lock))
}

impl Open {
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
        static LAST: AtomicU32 = AtomicU32::new(0);
        self.put(Region {
            base,
            len,
            mapped,
            page,
            prot,
            origin: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            whole: len,
            backing,
            born: Born::now(),
            ..Region::UNUSED
        })
    }

    fn put(&mut self, region: Region) -> bool {
        let place = self.regions().iter().position(|place| place.base == 0);
        let Some(place) = place else {
            return false;
        };
        self.set(place, region);
        true
    }

    fn set(&mut self, place: usize, region: Region) {
        self.regions()[place] = region;
        let (base, end) = &BOUNDS[place];
        if region.base == 0 {
            end.store(0, Ordering::Release);
            return;
        }
        base.store(region.base, Ordering::Release);
        end.store(region.mapped().end, Ordering::Release);
        USED.fetch_max(place + 1, Ordering::AcqRel);
    }

    /// Whether `count` slots are free.
    pub fn has_slots(&mut self, count: usize) -> bool {
        let free = self.regions().iter().filter(|place| place.base == 0);
        free.take(count).count() == count
    }

    /// The lowest region that overlaps the range.
    pub fn first(&mut self, range: &Range<usize>) -> Option<Region> {
        self.find(|region| region.base < range.end && range.start < region.mapped().end)
    }

    /// The lowest region that `wanted` accepts.
    pub fn find(&mut self, wanted: impl Fn(&Region) -> bool) -> Option<Region> {
        let found = self.regions().iter();
        let found = found.filter(|region| region.base != 0 && wanted(region));
        found.min_by_key(|region| region.base).copied()
    }

    /// Replaces the region at `base`, or removes it.
    pub fn update(&mut self, base: usize, region: Option<Region>) {
        let place = self.regions().iter().position(|place| place.base == base);
        if let Some(place) = place {
            self.set(place, region.unwrap_or(Region::UNUSED));
        }
    }

    /// Splits off a range of whole huge pages as a region of its own. Takes up to two slots.
    pub fn isolate(&mut self, region: Region, range: &Range<usize>) -> Region {
        let mut middle = region;
        if range.start > middle.base {
            let (before, after) = middle.halves(range.start);
            self.put(after);
            self.update(before.base, Some(before));
            middle = after;
        }
        if range.end < middle.mapped().end {
            let (before, after) = middle.halves(range.end);
            self.put(after);
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
        let mut open = open();
        let shape = (4 * PAGE - 4096, 4 * PAGE, PAGE);
        assert!(open.add(base, shape, 3, Backing::Anonymous));
        let region = open.first(&(base..base + 1)).unwrap();
        let middle = base + PAGE..base + 2 * PAGE;
        let piece = open.isolate(region, &middle);
        assert_eq!(piece.mapped(), middle);
        open.update(piece.base, None);
        assert!(overlaps(&(base..base + 1)) && !overlaps(&middle));
        assert!(overlaps(&(base + 4 * PAGE - 1..base + 4 * PAGE)));
        let last = open.first(&(middle.end..middle.end + 1)).unwrap();
        assert_eq!((last.len, last.offset), (2 * PAGE - 4096, 2 * PAGE));
        assert_eq!(last.origin_start(), base);
        for base in [base, middle.end] {
            open.update(base, None);
        }
        assert!(!overlaps(&(base..base + 4 * PAGE)));
    }
}

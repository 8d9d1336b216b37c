//! Large private anonymous mappings of the program, for which we advise transparent huge pages
//! (`HUGETLB_ANON`). Later mappings inside one get the same advice, so that VMAs merge as they
//! would without us.
//!
//! No locks: an entry is only a hint. Concurrent changes of neighbours may lose or lengthen one.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of entries; adjacent mappings with the same advice share one. A mapping without
/// an entry is advised when mapped, but not in `mprotect`.
const SLOTS: usize = 512;

/// Start and end of a mapping, page aligned; a start of 0 is a free slot. The end's lowest bit is
/// [`ADVISED`].
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
    }
}; SLOTS];

/// Number of slots up to the last that was ever used.
static USED_SLOTS: AtomicUsize = AtomicUsize::new(0);

const ADVISED: usize = 1;

/// A mapping, or adjacent ones with the same advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnonMapping {
    /// Its addresses.
    pub range: Range<usize>,
    /// Whether all of it is advised, inaccessible parts included. If not, each part is advised
    /// when it becomes writable.
    pub is_advised: bool,
}

impl Slot {
    fn get(&self) -> Option<AnonMapping> {
        let start = self.start.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Acquire);
        let mapping = AnonMapping {
            range: start..end & !ADVISED,
            is_advised: end & ADVISED != 0,
        };
        (start != 0 && !mapping.range.is_empty()).then_some(mapping)
    }

    fn set(&self, mapping: &AnonMapping) {
        self.end.store(encoded_end(mapping), Ordering::Release);
        self.start.store(mapping.range.start, Ordering::Release);
    }

    fn clear(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(0, Ordering::Release);
    }

    /// Stores a mapping if the slot is unused; returns whether it did.
    fn claim(&self, mapping: &AnonMapping) -> bool {
        let (unused, start) = (0, mapping.range.start);
        let taken = self
            .start
            .compare_exchange(unused, start, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            self.end.store(encoded_end(mapping), Ordering::Release);
        }
        taken.is_ok()
    }

    /// Extends the entry by an adjacent mapping with the same advice; returns whether it did.
    fn extend(&self, other: &AnonMapping) -> bool {
        let Some(mine) = self
            .get()
            .filter(|mine| mine.is_advised == other.is_advised)
        else {
            return false;
        };
        let swap = |field: &AtomicUsize, from, to| {
            field
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        if mine.range.end == other.range.start {
            return swap(&self.end, encoded_end(&mine), encoded_end(other));
        }
        mine.range.start == other.range.end
            && swap(&self.start, mine.range.start, other.range.start)
    }
}

fn encoded_end(mapping: &AnonMapping) -> usize {
    mapping.range.end | if mapping.is_advised { ADVISED } else { 0 }
}

fn entries() -> impl Iterator<Item = (&'static Slot, AnonMapping)> {
    let used = USED_SLOTS.load(Ordering::Acquire).min(SLOTS);
    let slots = TABLE.iter().take(used);
    slots.filter_map(|slot| Some((slot, slot.get()?)))
}

/// Whether there never was an entry.
pub fn is_empty() -> bool {
    USED_SLOTS.load(Ordering::Acquire) == 0
}

/// The mapping that contains a range.
pub fn containing(range: &Range<usize>) -> Option<AnonMapping> {
    let contains = |mapping: &AnonMapping| {
        mapping.range.start <= range.start && range.end <= mapping.range.end
    };
    entries().map(|(_, mapping)| mapping).find(contains)
}

/// Whether a range touches or intersections an advised mapping.
pub fn touches_advised(range: &Range<usize>) -> bool {
    let touches = |other: &Range<usize>| other.start <= range.end && range.start <= other.end;
    entries().any(|(_, mapping)| mapping.is_advised && touches(&mapping.range))
}

/// The parts of a range that lie in registered mappings.
pub fn intersections(range: &Range<usize>) -> impl Iterator<Item = AnonMapping> + use<> {
    let (start, end) = (range.start, range.end);
    entries().filter_map(move |(_, mapping)| {
        let range = mapping.range.start.max(start)..mapping.range.end.min(end);
        (!range.is_empty()).then_some(AnonMapping { range, ..mapping })
    })
}

/// Adds a mapping in place of all entries in its range.
pub fn add(mapping: &AnonMapping) {
    remove(&mapping.range);
    insert(mapping);
}

fn insert(mapping: &AnonMapping) {
    if entries().any(|(slot, _)| slot.extend(mapping)) {
        return;
    }
    if let Some(at) = TABLE.iter().position(|slot| slot.claim(mapping)) {
        USED_SLOTS.fetch_max(at + 1, Ordering::AcqRel);
    }
}

/// Removes a range; splits an entry around it.
pub fn remove(range: &Range<usize>) {
    for (slot, mapping) in entries() {
        let old = &mapping.range;
        if old.start >= range.end || range.start >= old.end {
            continue;
        }
        let part = |range: Range<usize>| AnonMapping {
            range,
            is_advised: mapping.is_advised,
        };
        let before = part(old.start..range.start.max(old.start));
        let after = part(range.end.min(old.end)..old.end);
        match (before.range.is_empty(), after.range.is_empty()) {
            (true, true) => slot.clear(),
            (true, false) => slot.set(&after),
            (false, true) => slot.set(&before),
            (false, false) => {
                slot.set(&before);
                insert(&after);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn advised(range: Range<usize>) -> AnonMapping {
        AnonMapping {
            range,
            is_advised: true,
        }
    }

    fn all() -> Vec<Range<usize>> {
        let mut all: Vec<_> = intersections(&(0..usize::MAX))
            .map(|mapping| mapping.range)
            .collect();
        all.sort_by_key(|range| range.start);
        all
    }

    /// One test, since there is one table.
    #[test]
    fn entries_join_and_split() {
        add(&advised(10 * MIB..20 * MIB));
        add(&advised(20 * MIB..30 * MIB));
        add(&advised(5 * MIB..10 * MIB));
        assert_eq!(all(), Vec::from([advised(5 * MIB..30 * MIB).range]));
        assert_eq!(
            containing(&(6 * MIB..29 * MIB)),
            Some(advised(5 * MIB..30 * MIB))
        );
        assert_eq!(containing(&(6 * MIB..31 * MIB)), None);
        assert!(touches_advised(&(30 * MIB..31 * MIB)) && touches_advised(&(4 * MIB..5 * MIB)));
        assert!(touches_advised(&(6 * MIB..7 * MIB)) && !touches_advised(&(31 * MIB..32 * MIB)));
        // Not advised: not joined.
        add(&AnonMapping {
            range: 30 * MIB..40 * MIB,
            is_advised: false,
        });
        assert_eq!(all(), [5 * MIB..30 * MIB, 30 * MIB..40 * MIB]);
        remove(&(8 * MIB..9 * MIB));
        remove(&(29 * MIB..31 * MIB));
        let rest = [5 * MIB..8 * MIB, 9 * MIB..29 * MIB, 31 * MIB..40 * MIB];
        assert_eq!(all(), rest);
        let overlapping: Vec<_> = intersections(&(7 * MIB..10 * MIB))
            .map(|mapping| mapping.range)
            .collect();
        assert_eq!(overlapping, [7 * MIB..8 * MIB, 9 * MIB..10 * MIB]);
        remove(&(0..usize::MAX));
        assert!(all().is_empty() && !is_empty());
        for at in 1..2 * SLOTS {
            add(&advised(2 * at * MIB..(2 * at + 1) * MIB));
        }
        assert_eq!(all().len(), SLOTS);
        remove(&(0..usize::MAX));
        assert!(all().is_empty());
    }
}

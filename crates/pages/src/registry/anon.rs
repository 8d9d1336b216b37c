//! Large private anonymous mappings of the program that get transparent huge pages
//! (`HUGETLB_ANON`). Later mappings inside one get the same advice, so that VMAs merge as they
//! would without us.
//!
//! No locks: an entry is only a hint. Concurrent changes of neighbours may lose or lengthen one.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of entries; neighbours share one. Further mappings are advised only when made.
const PLACES: usize = 512;

/// Start and end of a mapping, page aligned; a start of 0 is a free slot. The end's lowest bit is
/// [`ADVISED`].
struct Place {
    start: AtomicUsize,
    end: AtomicUsize,
}

static TABLE: [Place; PLACES] = [const {
    Place {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
    }
}; PLACES];

/// Index after the last slot ever used.
static USED: AtomicUsize = AtomicUsize::new(0);

const ADVISED: usize = 1;

/// A mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its addresses.
    pub range: Range<usize>,
    /// Whether all of it is advised, inaccessible parts included. Otherwise each part is advised
    /// when it becomes writable.
    pub is_advised: bool,
}

impl Place {
    fn get(&self) -> Option<Known> {
        let start = self.start.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Acquire);
        let known = Known {
            range: start..end & !ADVISED,
            is_advised: end & ADVISED != 0,
        };
        (start != 0 && !known.range.is_empty()).then_some(known)
    }

    fn put(&self, known: &Known) {
        self.end.store(end_of(known), Ordering::Release);
        self.start.store(known.range.start, Ordering::Release);
    }

    fn clear(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(0, Ordering::Release);
    }

    /// Stores a mapping if the slot is unused; returns whether it did.
    fn take(&self, known: &Known) -> bool {
        let (unused, start) = (0, known.range.start);
        let taken = self
            .start
            .compare_exchange(unused, start, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            self.end.store(end_of(known), Ordering::Release);
        }
        taken.is_ok()
    }

    /// Extends an adjacent mapping; returns whether it did.
    fn join(&self, other: &Known) -> bool {
        let Some(mine) = self
            .get()
            .filter(|mine| mine.is_advised == other.is_advised)
        else {
            return false;
        };
        let swap = |place: &AtomicUsize, from, to| {
            place
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        if mine.range.end == other.range.start {
            return swap(&self.end, end_of(&mine), end_of(other));
        }
        mine.range.start == other.range.end
            && swap(&self.start, mine.range.start, other.range.start)
    }
}

fn end_of(known: &Known) -> usize {
    known.range.end | if known.is_advised { ADVISED } else { 0 }
}

fn used() -> impl Iterator<Item = (&'static Place, Known)> {
    let used = USED.load(Ordering::Acquire).min(PLACES);
    let places = TABLE.iter().take(used);
    places.filter_map(|place| Some((place, place.get()?)))
}

/// Whether there never was an entry.
pub fn is_empty() -> bool {
    USED.load(Ordering::Acquire) == 0
}

/// The mapping that contains a range.
pub fn holding(range: &Range<usize>) -> Option<Known> {
    let holds = |known: &Known| known.range.start <= range.start && range.end <= known.range.end;
    used().map(|(_, known)| known).find(holds)
}

/// Whether a range touches or overlaps an advised mapping.
pub fn is_beside(range: &Range<usize>) -> bool {
    let meets = |other: &Range<usize>| other.start <= range.end && range.start <= other.end;
    used().any(|(_, known)| known.is_advised && meets(&known.range))
}

/// The parts of a range that lie in known mappings.
pub fn parts(range: &Range<usize>) -> impl Iterator<Item = Known> + use<> {
    let (start, end) = (range.start, range.end);
    used().filter_map(move |(_, known)| {
        let range = known.range.start.max(start)..known.range.end.min(end);
        (!range.is_empty()).then_some(Known { range, ..known })
    })
}

/// Adds a mapping, replacing entries in its range.
pub fn enter(known: &Known) {
    cut(&known.range);
    insert(known);
}

fn insert(known: &Known) {
    if used().any(|(place, _)| place.join(known)) {
        return;
    }
    if let Some(at) = TABLE.iter().position(|place| place.take(known)) {
        USED.fetch_max(at + 1, Ordering::AcqRel);
    }
}

/// Removes a range.
pub fn cut(range: &Range<usize>) {
    for (place, known) in used() {
        let old = &known.range;
        if old.start >= range.end || range.start >= old.end {
            continue;
        }
        let part = |range: Range<usize>| Known {
            range,
            is_advised: known.is_advised,
        };
        let before = part(old.start..range.start.max(old.start));
        let after = part(range.end.min(old.end)..old.end);
        match (before.range.is_empty(), after.range.is_empty()) {
            (true, true) => place.clear(),
            (true, false) => place.put(&after),
            (false, true) => place.put(&before),
            (false, false) => {
                place.put(&before);
                insert(&after);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn known(range: Range<usize>) -> Known {
        Known {
            range,
            is_advised: true,
        }
    }

    fn all() -> Vec<Range<usize>> {
        let mut all: Vec<_> = parts(&(0..usize::MAX)).map(|known| known.range).collect();
        all.sort_by_key(|range| range.start);
        all
    }

    /// One test, since there is one table.
    #[test]
    fn mappings_are_joined_cut_and_forgotten() {
        enter(&known(10 * MIB..20 * MIB));
        enter(&known(20 * MIB..30 * MIB));
        enter(&known(5 * MIB..10 * MIB));
        assert_eq!(all(), Vec::from([known(5 * MIB..30 * MIB).range]));
        assert_eq!(
            holding(&(6 * MIB..29 * MIB)),
            Some(known(5 * MIB..30 * MIB))
        );
        assert_eq!(holding(&(6 * MIB..31 * MIB)), None);
        assert!(is_beside(&(30 * MIB..31 * MIB)) && is_beside(&(4 * MIB..5 * MIB)));
        assert!(is_beside(&(6 * MIB..7 * MIB)) && !is_beside(&(31 * MIB..32 * MIB)));
        // Of another kind: not joined.
        enter(&Known {
            range: 30 * MIB..40 * MIB,
            is_advised: false,
        });
        assert_eq!(all(), [5 * MIB..30 * MIB, 30 * MIB..40 * MIB]);
        cut(&(8 * MIB..9 * MIB));
        cut(&(29 * MIB..31 * MIB));
        let left = [5 * MIB..8 * MIB, 9 * MIB..29 * MIB, 31 * MIB..40 * MIB];
        assert_eq!(all(), left);
        let met: Vec<_> = parts(&(7 * MIB..10 * MIB))
            .map(|known| known.range)
            .collect();
        assert_eq!(met, [7 * MIB..8 * MIB, 9 * MIB..10 * MIB]);
        cut(&(0..usize::MAX));
        assert!(all().is_empty() && !is_empty());
        for at in 1..2 * PLACES {
            enter(&known(2 * at * MIB..(2 * at + 1) * MIB));
        }
        assert_eq!(all().len(), PLACES);
        cut(&(0..usize::MAX));
        assert!(all().is_empty());
    }
}

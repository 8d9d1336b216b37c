//! Small mappings of the program's own that the kernel has laid side by side, each beside
//! the last, as it does where no place is named: which range they fill together.
//!
//! No locks: a row is a hint for what changes no contents, and the kernel says whether
//! memory is there. Two threads that make one longer at once may leave a mapping out.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// So many are known; the one that was begun first is given up for a new one.
const PLACES: usize = 8;

/// Where a row begins and ends; both are 0 in an unused place.
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

/// How many were begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// A row that has become longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    /// What it is now.
    pub row: Range<usize>,
    /// What it was.
    pub was: Range<usize>,
}

impl Place {
    fn get(&self) -> Range<usize> {
        self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)
    }

    fn put(&self, row: &Range<usize>) {
        self.start.store(row.start, Ordering::Relaxed);
        self.end.store(row.end, Ordering::Relaxed);
    }

    /// Makes it longer by what lies beside it.
    fn join(&self, other: &Range<usize>) -> Option<Grown> {
        let was = self.get();
        let (end, from, to) = match () {
            () if was.is_empty() => return None,
            () if was.start == other.end => (&self.start, was.start, other.start),
            () if was.end == other.start => (&self.end, was.end, other.end),
            () => return None,
        };
        end.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
            .ok()?;
        let row = was.start.min(other.start)..was.end.max(other.end);
        Some(Grown { row, was })
    }
}

/// Whether there are none at all.
#[inline]
pub fn is_empty() -> bool {
    BEGUN.load(Ordering::Relaxed) == 0
}

/// Enters a mapping: the row that it made longer; `None` where it begins one.
pub fn add(mapping: &Range<usize>) -> Option<Grown> {
    let grown = TABLE.iter().find_map(|place| place.join(mapping));
    if grown.is_none() {
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        TABLE[number % PLACES].put(mapping);
    }
    grown
}

/// Takes a range out, which is something else now. Of a row the part is kept that mappings
/// were added to last, as far as that can be told: they come from above as a rule.
pub fn cut(range: &Range<usize>) {
    for place in &TABLE {
        let row = place.get();
        if row.start >= range.end || range.start >= row.end {
            continue;
        }
        let (below, above) = (row.start..range.start, range.end..row.end);
        match below.is_empty() {
            false => place.put(&below),
            true if above.is_empty() => place.put(&(0..0)),
            true => place.put(&above),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn of(from: usize, to: usize) -> Range<usize> {
        from * MIB..to * MIB
    }

    fn grown(row: Range<usize>, was: Range<usize>) -> Option<Grown> {
        Some(Grown { row, was })
    }

    /// One test, since there is one table.
    #[test]
    fn rows_grow_at_both_ends_and_are_cut() {
        assert!(add(&of(100, 101)).is_none() && !is_empty());
        assert_eq!(add(&of(98, 100)), grown(of(98, 101), of(100, 101)));
        assert_eq!(add(&of(101, 103)), grown(of(98, 103), of(98, 101)));
        assert_eq!(add(&of(50, 51)), None);
        assert_eq!(add(&of(97, 98)), grown(of(97, 103), of(98, 103)));
        // What lies above a hole is forgotten, or what lies below it does not exist.
        cut(&of(100, 101));
        assert_eq!(add(&of(96, 97)), grown(of(96, 100), of(97, 100)));
        cut(&of(95, 97));
        assert_eq!(add(&of(96, 97)), grown(of(96, 100), of(97, 100)));
        cut(&of(40, 60));
        assert_eq!(add(&of(49, 50)), None);
        // The oldest is given up.
        for at in 0..PLACES {
            assert_eq!(add(&of(200 + 2 * at, 201 + 2 * at)), None);
        }
        assert_eq!(add(&of(48, 49)), None);
        cut(&(0..usize::MAX));
    }
}

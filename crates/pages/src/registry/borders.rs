//! Where advice of ours may have cut in two what is one mapping without it: ends of memory
//! that was advised, beside memory that was not. Once both sides were touched, the kernel
//! keeps the border also where they are alike again.
//!
//! An end is noted when what is new comes to lie there, since that becomes one with its
//! neighbour in any kernel; what is moved beside something does not, as a rule.
//!
//! No locks: an entry is a hint, and whoever takes it looks what is there.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// So many are known; the one that was noted first is given up for a new one.
const PLACES: usize = 512;

/// Addresses; 0 in an unused place.
static TABLE: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];

/// How many were noted.
static NOTED: AtomicUsize = AtomicUsize::new(0);

fn places() -> impl Iterator<Item = &'static AtomicUsize> {
    TABLE.iter().take(NOTED.load(Ordering::Acquire))
}

fn all() -> impl Iterator<Item = usize> {
    let addresses = places().map(|place| place.load(Ordering::Relaxed));
    addresses.filter(|at| *at != 0)
}

/// Notes one.
pub fn note(at: usize) {
    if is_noted(at) {
        return;
    }
    let unused = places().find(|place| place.load(Ordering::Relaxed) == 0);
    let next = || &TABLE[NOTED.fetch_add(1, Ordering::AcqRel) % PLACES];
    unused.unwrap_or_else(next).store(at, Ordering::Relaxed);
}

/// Whether one is noted there.
pub fn is_noted(at: usize) -> bool {
    all().any(|noted| noted == at)
}

/// Whether there are any within a range.
pub fn is_any_within(range: &Range<usize>) -> bool {
    all().any(|at| range.start < at && at < range.end)
}

/// Forgets those within a range and at its ends.
pub fn clear(range: &Range<usize>) {
    let is_meant = |at: usize| at != 0 && range.start <= at && at <= range.end;
    for place in places() {
        let at = place.load(Ordering::Relaxed);
        if is_meant(at) {
            let _ = place.compare_exchange(at, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// What is new lies in a range, and was advised or was not; its neighbours, before it and
/// behind it, likewise, or that cannot be told.
pub fn settle(
    range: &Range<usize>,
    is_advised: bool,
    (before, behind): (Option<bool>, Option<bool>),
) {
    clear(range);
    for (at, neighbour) in [(range.start, before), (range.end, behind)] {
        if neighbour != Some(is_advised) {
            note(at);
        }
    }
}

/// Memory was moved, with the borders in it, as far as it reaches now. Those at the old place
/// stay: another thread may have mapped something there by now.
pub fn moved(old: &Range<usize>, new: &Range<usize>) {
    if old.start == new.start {
        return clear(&(new.end..new.end));
    }
    clear(&(new.start..new.start));
    clear(&(new.end..new.end));
    let reach = old.start + old.len().min(new.len());
    for place in places() {
        let at = place.load(Ordering::Relaxed);
        if old.start < at && at < reach {
            note(new.start + (at - old.start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted() -> Vec<usize> {
        let mut all: Vec<_> = all().collect();
        all.sort_unstable();
        all
    }

    /// One test, since there is one table.
    #[test]
    fn borders_come_and_go() {
        assert!(!is_noted(10) && !is_any_within(&(0..usize::MAX)));
        settle(&(10..20), true, (Some(false), Some(false)));
        assert_eq!(sorted(), [10, 20]);
        // One that is advised like its neighbour, and another one that is not.
        settle(&(20..30), true, (Some(true), Some(false)));
        assert_eq!(sorted(), [10, 30]);
        settle(&(14..18), false, (Some(true), None));
        assert_eq!(sorted(), [10, 14, 18, 30]);
        assert!(is_noted(14) && is_any_within(&(10..18)) && !is_any_within(&(14..18)));
        // Moved, shorter, and in its place.
        moved(&(12..30), &(112..117));
        assert_eq!(sorted(), [10, 14, 18, 30, 114]);
        clear(&(14..18));
        moved(&(110..120), &(210..230));
        assert_eq!(sorted(), [10, 30, 114, 214]);
        moved(&(110..120), &(110..114));
        assert_eq!(sorted(), [10, 30, 214]);
        settle(&(200..300), true, (Some(true), Some(true)));
        assert_eq!(sorted(), [10, 30]);
        clear(&(0..usize::MAX));
        assert!(sorted().is_empty());
        for at in 1..=2 * PLACES {
            note(at);
        }
        assert_eq!(sorted().len(), PLACES);
        assert!(is_noted(2 * PLACES) && !is_noted(1));
        clear(&(0..usize::MAX));
    }
}

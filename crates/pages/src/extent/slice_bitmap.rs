//! A bitmap of the slices in use.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a slice, the smallest unit of use.
pub const SLICE: usize = 64 << 10;

/// The bitmap of an extent: a bit for each slice.
#[derive(Debug, Clone, Copy)]
pub struct Slices<'a>(pub &'a [AtomicU64]);

impl Slices<'_> {
    /// Number of words for this many slices.
    pub const fn words(slices: usize) -> usize {
        slices.div_ceil(64)
    }

    /// Sets the bits of a range; returns how many were clear.
    pub fn set(&self, range: Range<usize>) -> u32 {
        self.change(range, |word, mask| {
            mask & !word.fetch_or(mask, Ordering::AcqRel)
        })
    }

    /// Clears the bits of a range; returns how many were set.
    pub fn clear(&self, range: Range<usize>) -> u32 {
        self.change(range, |word, mask| {
            mask & word.fetch_and(!mask, Ordering::AcqRel)
        })
    }

    /// The first run of set bits in a range.
    pub fn first_run(&self, range: Range<usize>) -> Option<Range<usize>> {
        let is_set = |slice: &usize| self.is_set(*slice);
        let start = range.clone().find(is_set)?;
        let end = (start..range.end).find(|slice| !is_set(slice));
        Some(start..end.unwrap_or(range.end))
    }

    fn is_set(&self, slice: usize) -> bool {
        let word = self.0.get(slice / 64);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (slice % 64) & 1 == 1)
    }

    fn change(&self, range: Range<usize>, change: impl Fn(&AtomicU64, u64) -> u64) -> u32 {
        let mut changed = 0;
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / 64 + 1) * 64);
            if let Some(word) = self.0.get(at / 64) {
                changed += change(word, mask(at % 64, end - at)).count_ones();
            }
            at = end;
        }
        changed
    }
}

/// A mask of `count` bits from bit `from`.
const fn mask(from: usize, count: usize) -> u64 {
    match count {
        64 => u64::MAX,
        count => ((1 << count) - 1) << from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_counted() {
        let words: Vec<_> = (0..4).map(|_| AtomicU64::new(0)).collect();
        let slices = Slices(&words);
        assert_eq!(slices.set(60..70), 10);
        assert_eq!(slices.set(50..200), 140);
        assert_eq!(slices.set(0..256), 106);
        assert_eq!(slices.clear(64..128), 64);
        assert_eq!(slices.clear(0..256), 192);
        assert_eq!(slices.set(3..3), 0);
    }

    #[test]
    fn runs_are_found_one_after_the_other() {
        let words: Vec<_> = (0..2).map(|_| AtomicU64::new(0)).collect();
        let slices = Slices(&words);
        slices.set(5..70);
        slices.set(100..101);
        assert_eq!(slices.first_run(0..128), Some(5..70));
        assert_eq!(slices.first_run(6..10), Some(6..10));
        assert_eq!(slices.first_run(70..128), Some(100..101));
        assert_eq!(slices.first_run(101..128), None);
    }
}

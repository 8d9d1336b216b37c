//! The pages to try for a segment, and their order.

use core::ops::Range;

use hugetools_contract::env::{Fallback, Pages};

use super::load::inner;
use super::reason::Reason;
use crate::config;
use crate::extent::page_sizes;
use crate::kernel::facts;
use crate::policy::pool_backoff;

/// The kinds of pages to try for a segment, in order (rungs of the ladder).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rungs {
    /// Page size of the pool to try first.
    pub first: Option<usize>,
    /// Page size of the pool to try for the rest.
    pub second: Option<usize>,
    /// Whether to try the file's own huge pages first. If a page size was requested, they come
    /// after pool pages.
    pub page_cache_first: bool,
    /// Whether to try transparent huge pages last.
    pub thp: bool,
}

/// Whole pages to request from a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Their addresses.
    pub range: Range<usize>,
    /// Their size.
    pub size: usize,
}

impl Piece {
    /// Why the pool doesn't provide `bytes` bytes.
    pub(super) fn shortfall(&self, bytes: usize) -> Reason {
        let pages = bytes / self.size;
        Reason::Pool(pool_backoff::private_shortfall_of(self.size, pages))
    }
}

impl Rungs {
    /// Chooses the rungs for a setting on this machine.
    pub fn of(pages: Pages) -> Rungs {
        let asked = page_sizes::asked_size(pages);
        let smaller = |size: &usize| asked.is_some_and(|asked| *size < asked);
        Rungs {
            first: asked,
            second: facts::default_huge_size().filter(smaller),
            page_cache_first: !matches!(pages, Pages::Size(_)),
            thp: match config::get().fallback {
                Fallback::Thp => true,
                Fallback::Base => false,
                Fallback::None => pages == Pages::Thp,
            },
        }
    }

    /// The smallest page size to try.
    pub fn smallest(&self) -> usize {
        let thp = facts::thp_size();
        let smaller = || self.first.map_or(thp, |first| first.min(thp));
        self.second.unwrap_or_else(smaller)
    }

    /// Replaces as much of a range as possible by pool pages, larger ones first; returns the parts
    /// that are left. `take` replaces a piece from its start and returns the bytes replaced.
    pub fn take_from_pools(
        &self,
        range: Range<usize>,
        mut take: impl FnMut(&Piece) -> usize,
    ) -> [Range<usize>; 4] {
        let mut split = |part: Range<usize>, size: Option<usize>| {
            let whole = size.map(|size| (inner(&part, size), size));
            let Some((range, size)) = whole.filter(|(range, _)| !range.is_empty()) else {
                return [part.clone(), part.end..part.end];
            };
            let start = range.start;
            [
                part.start..start,
                start + take(&Piece { range, size })..part.end,
            ]
        };
        let [before, after] = split(range, self.first);
        let ([a, b], [c, d]) = (split(before, self.second), split(after, self.second));
        [a, b, c, d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: usize = 1 << 20;
    const GIB: usize = 1 << 30;

    fn rungs(first: usize, second: usize) -> Rungs {
        Rungs {
            first: Some(first),
            second: Some(second),
            page_cache_first: false,
            thp: true,
        }
    }

    #[test]
    fn the_second_pool_provides_the_rest() {
        let mut asked = Vec::new();
        let take = |piece: &Piece| {
            asked.push((piece.range.clone(), piece.size));
            if piece.size == GIB { GIB } else { 6 * MIB }
        };
        let rest = rungs(GIB, 2 * MIB).take_from_pools(GIB - 9 * MIB..4 * GIB + MIB, take);
        let second = [(GIB - 8 * MIB..GIB, 2 * MIB), (2 * GIB..4 * GIB, 2 * MIB)];
        assert_eq!(asked[0], (GIB..4 * GIB, GIB));
        assert_eq!(asked[1..], second);
        let rest_of_first = [GIB - 9 * MIB..GIB - 8 * MIB, GIB - 2 * MIB..GIB];
        assert_eq!(rest[..2], rest_of_first);
        assert_eq!(
            rest[2..],
            [2 * GIB..2 * GIB, 2 * GIB + 6 * MIB..4 * GIB + MIB]
        );
    }

    proptest! {
        #[test]
        fn only_partial_pages_are_left_of_sufficient_pools(
            start in 0..1usize << 40, len in 0..1usize << 34,
            first in 21..31u32, second in 12..22u32,
        ) {
            let (first, second) = (1 << first.max(second), 1 << second);
            let mut taken = 0;
            let rest = rungs(first, second).take_from_pools(start..start + len, |piece| {
                assert!(piece.range.start % piece.size == 0 && piece.range.len() % piece.size == 0);
                taken += piece.range.len();
                piece.range.len()
            });
            let left: usize = rest.iter().map(ExactSizeIterator::len).sum();
            prop_assert_eq!(taken + left, len);
            prop_assert!(left < 2 * second);
        }
    }
}

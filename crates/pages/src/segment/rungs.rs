//! The pages to try for a segment, and their order.

use core::ops::Range;

use hugetools_contract::env::{Fallback, Pages};

use super::divide::Piece;
use super::load::inner;
use crate::config;
use crate::extent::page_sizes;
use crate::kernel::facts;

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

    /// The page sizes for [`divide`](super::divide::divide).
    pub fn sizes(&self) -> (usize, usize) {
        let thp = facts::thp_size();
        let first = self.first.unwrap_or(thp);
        (first, self.second.unwrap_or(thp.min(first)))
    }

    /// Replaces as much of a piece as possible by pool pages, larger ones first; returns the rest.
    /// `take` replaces a piece from its start and returns the bytes replaced.
    pub fn take_from_pools(
        &self,
        piece: &Piece,
        mut take: impl FnMut(&Piece) -> usize,
    ) -> Range<usize> {
        let mut rest = piece.range.clone();
        for size in [self.first, self.second].into_iter().flatten() {
            let range = inner(&rest, size);
            if size <= piece.size && !range.is_empty() {
                rest.start = range.start + take(&Piece { range, size });
            }
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const GIB: usize = 1 << 30;

    #[test]
    fn the_second_pool_provides_the_rest() {
        let rungs = Rungs {
            first: Some(GIB),
            second: Some(2 * MIB),
            page_cache_first: false,
            thp: true,
        };
        let piece = Piece {
            range: GIB..4 * GIB,
            size: GIB,
        };
        let mut asked = Vec::new();
        let rest = rungs.take_from_pools(&piece, |piece| {
            asked.push((piece.range.clone(), piece.size));
            if piece.size == GIB { GIB } else { 6 * MIB }
        });
        assert_eq!(asked, [(GIB..4 * GIB, GIB), (2 * GIB..4 * GIB, 2 * MIB)]);
        assert_eq!(rest, 2 * GIB + 6 * MIB..4 * GIB);
    }
}

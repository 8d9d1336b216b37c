//! In which order the pages for a segment are tried.

use core::ops::Range;

use hugetools_contract::env::{Fallback, Pages};

use super::divide::Piece;
use super::load::inner;
use crate::config;
use crate::extent::page_sizes;
use crate::kernel::facts;

/// When the file's own pages are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Before pages of a pool.
    First,
    /// After them: a page size was asked for.
    Second,
}

/// The rungs for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// The size of the pool pages to try first; `None` for none.
    pub first: Option<usize>,
    /// The size to try for what is left, and where the first has none left.
    pub second: Option<usize>,
    /// When the file's own pages are tried, for what is never written.
    pub own: Own,
    /// Whether transparent huge pages are tried last.
    pub thp: bool,
}

impl Wish {
    /// What follows from what was asked for on this machine.
    pub fn of(pages: Pages) -> Wish {
        let asked = page_sizes::asked_size(pages);
        let default = facts::default_huge_size();
        Wish::choose(pages, asked, default, config::get().fallback)
    }

    fn choose(
        pages: Pages,
        asked: Option<usize>,
        default: Option<usize>,
        fallback: Fallback,
    ) -> Wish {
        let smaller = |size: &usize| asked.is_some_and(|asked| *size < asked);
        Wish {
            first: asked,
            second: default.filter(smaller),
            own: match pages {
                Pages::Size(_) => Own::Second,
                Pages::Default | Pages::Thp => Own::First,
            },
            thp: match fallback {
                Fallback::Thp => true,
                Fallback::Base => false,
                Fallback::None => pages == Pages::Thp,
            },
        }
    }

    /// The sizes in which a segment is divided: whole pages of the first, what
    /// is left in pages of the second.
    pub fn sizes(&self) -> (usize, usize) {
        let thp = facts::thp_size();
        let first = self.first.unwrap_or(thp);
        (first, self.second.unwrap_or(thp.min(first)))
    }

    /// Takes a piece from the pools, larger pages first: `take` gets the
    /// beginning of what it is given, and says how much. What is left.
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
    fn what_one_pool_has_not_the_next_one_gives() {
        let wish = Wish::choose(
            Pages::Size(GIB as u64),
            Some(GIB),
            Some(2 * MIB),
            Fallback::Thp,
        );
        let piece = Piece {
            range: GIB..4 * GIB,
            size: GIB,
        };
        let mut asked = Vec::new();
        let rest = wish.take_from_pools(&piece, |piece| {
            asked.push((piece.range.clone(), piece.size));
            if piece.size == GIB { GIB } else { 6 * MIB }
        });
        assert_eq!(asked, [(GIB..4 * GIB, GIB), (2 * GIB..4 * GIB, 2 * MIB)]);
        assert_eq!(rest, 2 * GIB + 6 * MIB..4 * GIB);
    }

    #[test]
    fn rungs_for_what_was_asked() {
        let wish = |pages, asked| Wish::choose(pages, asked, Some(2 * MIB), Fallback::Thp);
        let default = wish(Pages::Default, Some(2 * MIB));
        assert_eq!((default.first, default.second), (Some(2 * MIB), None));
        assert_eq!((default.own, default.thp), (Own::First, true));
        let gib = wish(Pages::Size(GIB as u64), Some(GIB));
        assert_eq!((gib.first, gib.second), (Some(GIB), Some(2 * MIB)));
        assert_eq!(gib.own, Own::Second);
        let thp = wish(Pages::Thp, None);
        assert_eq!((thp.first, thp.second, thp.thp), (None, None, true));
        let pool_only = Wish::choose(Pages::Default, Some(2 * MIB), None, Fallback::Base);
        assert!(!pool_only.thp);
    }
}

//! What of a program's segments lies in whole huge pages, at the addresses
//! that they have.

use std::ops::Range;

use hugetools_contract::segment::{Row, Segment};

use super::objects::Known;
use crate::ranges::joined;

/// How much could be on huge pages, and how much is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Whole {
    pub(super) possible: u64,
    pub(super) huge: u64,
}

impl Whole {
    /// Of some segments of one file, that follow one another or not.
    pub(super) fn of(
        segments: &[Segment],
        object: &[u8],
        known: &[Known],
        rows: &[Row<'_>],
        size: u64,
    ) -> Whole {
        let ranges = known.iter().filter(|known| known.is(segments, object));
        let rows = rows
            .iter()
            .filter(|row| segments.contains(&row.segment) && row.object == Some(object));
        Whole {
            possible: joined(ranges.map(Known::range).collect())
                .iter()
                .map(|range| whole(range, size))
                .sum(),
            huge: rows.map(Row::huge_bytes).sum(),
        }
    }

    /// Whether there is nothing left to do but at the edges.
    pub(super) fn is_huge(self) -> bool {
        self.huge >= self.possible / 100 * 99
    }
}

fn whole(range: &Range<u64>, size: u64) -> u64 {
    let start = match size {
        0 => None,
        size => range.start.checked_next_multiple_of(size),
    };
    start.map_or(0, |start| (range.end / size * size).saturating_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_bss_share_a_page() {
        const MB: u64 = 1 << 20;
        let ranges = vec![9 * MB..11 * MB, 5 * MB..9 * MB, 20 * MB..21 * MB];
        let joined = joined(ranges);
        assert_eq!(joined, [5 * MB..11 * MB, 20 * MB..21 * MB]);
        let sum: u64 = joined.iter().map(|range| whole(range, 2 * MB)).sum();
        assert_eq!(sum, 4 * MB);
        assert_eq!(whole(&(0..MB), 0), 0);
    }
}

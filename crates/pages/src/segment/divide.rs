//! Divides a segment among page sizes.

use core::ops::Range;

use super::load::inner;
use super::reason::Reason;
use crate::policy::pool_backoff;

/// A part of a segment and its page size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its addresses, whole pages.
    pub range: Range<usize>,
    /// Its page size.
    pub size: usize,
}

impl Piece {
    /// Why its pool doesn't provide `bytes` bytes.
    pub(super) fn shortfall(&self, bytes: usize) -> Reason {
        Reason::Pool(pool_backoff::private_shortfall_of(
            self.size,
            bytes / self.size,
        ))
    }
}

/// Divides a range: as much as possible in pages of `first`, the rest on both sides in pages of
/// `second`, in order of address. Partial pages are left out.
pub fn divide(range: &Range<usize>, first: usize, second: usize) -> impl Iterator<Item = Piece> {
    let middle = inner(range, first);
    let (before, after) = match middle.is_empty() {
        true => (inner(range, second), 0..0),
        false => (
            inner(&(range.start..middle.start), second),
            inner(&(middle.end..range.end), second),
        ),
    };
    let pieces = [(before, second), (middle, first), (after, second)];
    let pieces = pieces.into_iter().filter(|(range, _)| !range.is_empty());
    pieces.map(|(range, size)| Piece { range, size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn the_middle_in_larger_pages() {
        let all: Vec<_> = divide(&(3 * MIB..4101 * MIB), 1024 * MIB, 2 * MIB).collect();
        let piece = |start, end, size| Piece {
            range: start * MIB..end * MIB,
            size: size * MIB,
        };
        let wanted = [
            piece(4, 1024, 2),
            piece(1024, 4096, 1024),
            piece(4096, 4100, 2),
        ];
        assert_eq!(all, wanted);
        let small: Vec<_> = divide(&(3 * MIB..9 * MIB), 1024 * MIB, 2 * MIB).collect();
        assert_eq!(small, [piece(4, 8, 2)]);
        assert_eq!(divide(&(MIB..3 * MIB), 2 * MIB, 2 * MIB).count(), 0);
    }

    proptest! {
        #[test]
        fn pieces_are_whole_pages_within_the_range(
            start in 0..1usize << 40, len in 0..1usize << 34,
            first in 21..31u32, second in 12..22u32,
        ) {
            let (first, second) = (1 << first.max(second), 1 << second);
            let range = start..start + len;
            let mut at = start;
            let mut left = len;
            for piece in divide(&range, first, second) {
                prop_assert!(piece.size == first || piece.size == second);
                prop_assert_eq!(piece.range.start % piece.size, 0);
                prop_assert_eq!(piece.range.len() % piece.size, 0);
                prop_assert!(at <= piece.range.start && piece.range.end <= range.end);
                at = piece.range.end;
                left -= piece.range.len();
            }
            prop_assert!(left < 2 * second);
        }
    }
}

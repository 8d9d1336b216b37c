//! Table of parked pieces, and the memory that holds their pages.
#![expect(unsafe_code, reason = "maps memory")]

use core::ffi::c_int;
use core::ops::Range;

use crate::kernel::facts;
use crate::sys::{self, Result};

/// Capacity of the table in pieces. New ones use half of it; the other half is for pieces that the
/// program splits.
const CAPACITY: usize = 1 << 17;

/// Pages that belong at `origin` and are kept at `parked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) origin: usize,
    pub(super) parked: usize,
    pub(super) len: usize,
}

impl Piece {
    pub(super) fn origin(&self) -> Range<usize> {
        self.origin..self.origin + self.len
    }

    pub(super) fn parked(&self) -> Range<usize> {
        self.parked..self.parked + self.len
    }

    /// The part between two offsets.
    pub(super) fn part(&self, from: usize, to: usize) -> Piece {
        Piece {
            origin: self.origin + from,
            parked: self.parked + from,
            len: to - from,
        }
    }

    /// The part with its origin in a range.
    pub(super) fn part_in(&self, range: &Range<usize>) -> Option<Piece> {
        let start = self.origin.max(range.start);
        let end = self.origin().end.min(range.end);
        (start < end).then(|| self.part(start - self.origin, end - self.origin))
    }

    /// Unmaps the parking memory.
    pub(super) fn unmap(&self) {
        unmap(self.parked, self.len);
    }
}

#[derive(Debug)]
pub(super) struct Pieces {
    all: &'static mut [Piece],
    count: usize,
}

impl Pieces {
    pub(super) fn new() -> Result<Pieces> {
        // Shared memory, which doesn't qualify for moves: the service must not park its table.
        let at = map(CAPACITY * size_of::<Piece>(), READ_WRITE, libc::MAP_SHARED)?;
        // SAFETY: mapped for these pieces, all zero, and unmapped only when dropped.
        let all = unsafe { core::slice::from_raw_parts_mut(at as *mut Piece, CAPACITY) };
        Ok(Pieces { all, count: 0 })
    }

    pub(super) fn all(&self) -> &[Piece] {
        &self.all[..self.count]
    }

    pub(super) fn has_room(&self) -> bool {
        self.count < CAPACITY / 2
    }

    /// Whether the program has split so many pieces that the table may overflow.
    pub(super) fn is_crowded(&self) -> bool {
        self.count > CAPACITY / 4 * 3
    }

    /// Adds a piece, if it isn't empty.
    pub(super) fn add(&mut self, piece: Piece) {
        if piece.len > 0 {
            self.all[self.count] = piece;
            self.count += 1;
        }
    }

    /// A piece whose origin overlaps a range.
    pub(super) fn find(&self, origin: &Range<usize>) -> Option<Piece> {
        self.position(origin).map(|at| self.all[at])
    }

    /// The lowest overlap of a parking range with a piece.
    pub(super) fn first_parked(&self, parked: &Range<usize>) -> Option<Piece> {
        let part = |piece: &Piece| {
            let start = piece.parked.max(parked.start);
            let end = piece.parked().end.min(parked.end);
            (start < end).then(|| piece.part(start - piece.parked, end - piece.parked))
        };
        let parts = self.all().iter().filter_map(part);
        parts.min_by_key(|part| part.parked)
    }

    /// Whether a range overlaps the origin or the parking memory of any piece.
    pub(super) fn overlap(&self, range: &Range<usize>) -> bool {
        let overlaps = |other: Range<usize>| other.start < range.end && range.start < other.end;
        let mut all = self.all().iter();
        all.any(|piece| overlaps(piece.origin()) || overlaps(piece.parked()))
    }

    /// Takes the overlap of an origin range with a piece out of the table; the rest stays.
    pub(super) fn take(&mut self, origin: &Range<usize>) -> Option<Piece> {
        let at = self.position(origin)?;
        let piece = self.all[at];
        let part = piece.part_in(origin)?;
        self.count -= 1;
        self.all[at] = self.all[self.count];
        let from = part.origin - piece.origin;
        self.add(piece.part(0, from));
        self.add(piece.part(from + part.len, piece.len));
        Some(part)
    }

    fn position(&self, origin: &Range<usize>) -> Option<usize> {
        let mut all = self.all().iter();
        all.position(|piece| piece.part_in(origin).is_some())
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        unmap(self.all.as_ptr() as usize, size_of_val(self.all));
    }
}

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Maps memory for the pages of a range, at the same offset in a huge page.
pub(super) fn map_parking(origin: &Range<usize>, prot: c_int) -> Result<usize> {
    let huge = facts::thp_size();
    let len = origin.len() + 2 * huge;
    // Inaccessible: after `mlockall` the kernel would populate it.
    let at = map(len, libc::PROT_NONE, libc::MAP_PRIVATE)?;
    let _ = sys::munlock(at, len);
    let start = at.next_multiple_of(huge) + origin.start % huge;
    let end = start + origin.len();
    unmap(at, start - at);
    unmap(end, at + len - end);
    // SAFETY: mapped above.
    let made = unsafe { sys::mprotect(start, origin.len(), prot) };
    made.inspect_err(|_| unmap(start, origin.len()))?;
    Ok(start)
}

fn map(len: usize, prot: c_int, kind: c_int) -> Result<usize> {
    let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, flags, -1, 0) }
}

pub(super) fn unmap(at: usize, len: usize) {
    // SAFETY: memory of ours. The kernel refuses a length of 0.
    let _ = unsafe { sys::munmap(at, len) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(origin: usize, parked: usize, len: usize) -> Piece {
        Piece {
            origin,
            parked,
            len,
        }
    }

    #[test]
    fn parts_are_cut_out_and_found_again() {
        let mut pieces = Pieces::new().unwrap();
        pieces.add(piece(100, 1000, 50));
        assert_eq!(pieces.take(&(120..130)), Some(piece(120, 1020, 10)));
        assert_eq!(pieces.take(&(120..130)), None);
        pieces.add(piece(500, 1020, 10));
        assert_eq!(pieces.find(&(125..126)), None);
        assert_eq!(pieces.find(&(0..120)), Some(piece(100, 1000, 20)));
        assert_eq!(pieces.find(&(149..500)), Some(piece(130, 1030, 20)));
        assert_eq!(pieces.find(&(505..506)), Some(piece(500, 1020, 10)));
        let first = |from| pieces.first_parked(&(from..1050));
        assert_eq!(first(1010), Some(piece(110, 1010, 10)));
        assert_eq!(first(1020), Some(piece(500, 1020, 10)));
        assert_eq!(first(1050), None);
        assert!(pieces.overlap(&(505..506)) && pieces.overlap(&(1049..1050)));
        assert!(!pieces.overlap(&(120..130)) && !pieces.overlap(&(1050..2000)));
        assert_eq!(pieces.all().len(), 3);
    }
}

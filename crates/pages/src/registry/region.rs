//! Shared memory that was handed out on hugetlb pages.

use core::ops::Range;

use super::born::Born;
use super::gone::Gone;

/// What stands behind a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Pages that only this process and its children can have.
    Anonymous,
    /// A System V segment, by the number that the program knows, and the flags
    /// that it was attached with.
    Segment(i32, i32),
}

/// A piece of shared memory with one access; a mapping or an attachment has
/// more than one where the program has changed or unmapped a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The first address; 0 for an unused place.
    pub base: usize,
    /// The length that the program knows, in whole base pages.
    pub len: usize,
    /// The length that is mapped, in whole huge pages.
    pub mapped: usize,
    /// The size of its huge pages.
    pub page: usize,
    /// The access that the program gave it.
    pub prot: i32,
    /// Whether the program wants it in no core dump.
    pub hidden: bool,
    /// What it is a piece of: the same number for the same mapping or
    /// attachment.
    pub origin: u32,
    /// How far into that it begins.
    pub offset: usize,
    /// How long that was, in whole base pages: behind it there is nothing.
    pub whole: usize,
    /// What stands behind it.
    pub backing: Backing,
    /// What of it the program has unmapped.
    pub gone: Gone,
    /// When and where it was made.
    pub born: Born,
}

impl Region {
    pub(super) const UNUSED: Region = Region {
        base: 0,
        len: 0,
        mapped: 0,
        page: 0,
        prot: 0,
        hidden: false,
        origin: 0,
        offset: 0,
        whole: 0,
        backing: Backing::Anonymous,
        gone: Gone::NOTHING,
        born: Born::NEVER,
    };

    /// What the program knows of it.
    pub fn known(&self) -> Range<usize> {
        self.base..self.base + self.len
    }

    /// What is mapped.
    pub fn mapped(&self) -> Range<usize> {
        self.base..self.base + self.mapped
    }

    /// Where the mapping or attachment begins that it is a piece of.
    pub fn beginning(&self) -> usize {
        self.base - self.offset
    }

    /// What a part of it is in whole huge pages, where it is such; the end of
    /// what the program knows is the end of what is mapped.
    pub fn whole_pages(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let end = match part.end == self.known().end {
            true => self.mapped().end,
            false => part.end,
        };
        let whole = |addr: usize| (addr - self.base) % self.page == 0;
        (whole(part.start) && whole(end)).then_some(part.start..end)
    }

    /// The whole huge pages within a part of it; none where it has none.
    pub fn pages_within(&self, part: &Range<usize>) -> Range<usize> {
        let end = match part.end == self.known().end {
            true => self.mapped().end,
            false => self.base + (part.end - self.base) / self.page * self.page,
        };
        let start = self.base + (part.start - self.base).next_multiple_of(self.page);
        start..end.max(start)
    }

    /// The huge pages that a part of it touches.
    pub fn pages_around(&self, part: &Range<usize>) -> Range<usize> {
        let start = self.base + (part.start - self.base) / self.page * self.page;
        start..self.base + (part.end - self.base).next_multiple_of(self.page)
    }

    /// Both sides of a multiple of its pages.
    pub(super) fn halves(&self, at: usize) -> (Region, Region) {
        let cut = at - self.base;
        let before = Region {
            len: cut,
            mapped: cut,
            gone: self.gone.within(&(self.base..at)),
            ..*self
        };
        let after = Region {
            base: at,
            len: self.len - cut,
            mapped: self.mapped - cut,
            offset: self.offset + cut,
            gone: self.gone.within(&(at..self.known().end)),
            ..*self
        };
        (before, after)
    }

    /// Both as one, where `next` goes on where this one ends.
    pub(super) fn joined(&self, next: &Region) -> Option<Region> {
        let goes_on = self.origin == next.origin
            && self.known().end == next.base
            && self.len == self.mapped
            && self.offset + self.len == next.offset
            && self.prot == next.prot
            && self.hidden == next.hidden;
        let is_whole = self.gone.is_nothing() && next.gone.is_nothing();
        (goes_on && is_whole).then(|| Region {
            len: self.len + next.len,
            mapped: self.mapped + next.mapped,
            ..*self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: Region = Region {
        base: 1000,
        len: 950,
        mapped: 1000,
        page: 100,
        origin: 1,
        whole: 1000,
        ..Region::UNUSED
    };

    #[test]
    fn parts_in_whole_pages() {
        assert_eq!(REGION.whole_pages(&(1100..1200)), Some(1100..1200));
        assert_eq!(REGION.whole_pages(&(1100..1950)), Some(1100..2000));
        assert_eq!(REGION.whole_pages(&(1100..1940)), None);
        assert_eq!(REGION.pages_within(&(1110..1390)), 1200..1300);
        assert_eq!(REGION.pages_within(&(1110..1150)), 1200..1200);
        assert_eq!(REGION.pages_within(&(1810..1950)), 1900..2000);
        assert_eq!(REGION.pages_around(&(1110..1150)), 1100..1200);
    }

    #[test]
    fn halves_are_joined_again() {
        let (before, after) = REGION.halves(1300);
        assert_eq!((before.len, after.len, after.mapped), (300, 650, 700));
        assert_eq!((after.offset, after.beginning()), (300, 1000));
        assert_eq!(before.joined(&after), Some(REGION));
        let closed = Region { prot: 1, ..after };
        assert_eq!(before.joined(&closed), None);
        assert_eq!(after.joined(&before), None);
    }
}

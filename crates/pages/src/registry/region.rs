//! Shared memory that was handed out on hugetlb pages.

use core::ops::Range;

use crate::rt::fork_gate;
use crate::sys;

/// What stands behind a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Pages that only this process and its children can have.
    Anonymous,
    /// A System V segment.
    Segment,
}

/// When and where memory was made, from which follows who may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Born {
    forks: u32,
    pid: u32,
}

impl Born {
    const NEVER: Born = Born { forks: 0, pid: 0 };

    pub(super) fn now() -> Born {
        Born {
            forks: fork_gate::forks(),
            pid: sys::getpid(),
        }
    }

    /// Whether a process that was forked since may share it.
    pub fn may_have_heirs(&self) -> bool {
        *self != Born::now()
    }
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
    /// What it is a piece of: the same number for the same mapping or
    /// attachment.
    pub origin: u32,
    /// How far into that it begins.
    pub offset: usize,
    /// How long that was, in whole base pages: behind it there is nothing.
    pub whole: usize,
    /// What stands behind it.
    pub backing: Backing,
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
        origin: 0,
        offset: 0,
        whole: 0,
        backing: Backing::Anonymous,
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

    /// Both sides of a multiple of its pages.
    pub(super) fn halves(&self, at: usize) -> (Region, Region) {
        let cut = at - self.base;
        let before = Region {
            len: cut,
            mapped: cut,
            ..*self
        };
        let after = Region {
            base: at,
            len: self.len - cut,
            mapped: self.mapped - cut,
            offset: self.offset + cut,
            ..*self
        };
        (before, after)
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
    }

    #[test]
    fn halves_are_side_by_side() {
        let (before, after) = REGION.halves(1300);
        assert_eq!((before.len, after.len, after.mapped), (300, 650, 700));
        assert_eq!((after.offset, after.beginning()), (300, 1000));
    }
}

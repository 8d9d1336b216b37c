//! A region of shared memory on hugetlb pages.

use core::ops::Range;

use crate::rt::fork_gate;
use crate::sys;

/// Kind of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Anonymous memory, shared with children only.
    Anonymous,
    /// A System V segment.
    Segment,
}

/// Identifies the process that created a region, and how often it had forked.
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

    /// Whether a fork since then may have shared the region with another process.
    pub fn may_be_inherited(&self) -> bool {
        *self != Born::now()
    }
}

/// A piece of shared memory with one protection. A mapping has several pieces if the program
/// has unmapped or protected part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Address; 0 for an unused slot.
    pub base: usize,
    /// Length in bytes that the program knows: whole base pages.
    pub len: usize,
    /// Mapped length in bytes: whole huge pages.
    pub mapped: usize,
    /// Size of its huge pages.
    pub page: usize,
    /// Its protection.
    pub prot: i32,
    /// ID of the mapping or attachment it belongs to.
    pub origin: u32,
    /// Offset in that mapping.
    pub offset: usize,
    /// Length of that mapping in bytes: whole base pages.
    pub whole: usize,
    /// Its kind.
    pub backing: Backing,
    /// Its creator.
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

    /// The range that the program knows.
    pub fn known(&self) -> Range<usize> {
        self.base..self.base + self.len
    }

    /// The mapped range.
    pub fn mapped(&self) -> Range<usize> {
        self.base..self.base + self.mapped
    }

    /// Start of the mapping it belongs to.
    pub fn origin_start(&self) -> usize {
        self.base - self.offset
    }

    /// Expands a part to whole huge pages: an end at the known length becomes the mapped end.
    /// `None` if the part isn't aligned.
    pub fn whole_pages(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let end = match part.end == self.known().end {
            true => self.mapped().end,
            false => part.end,
        };
        let whole = |addr: usize| (addr - self.base) % self.page == 0;
        (whole(part.start) && whole(end)).then_some(part.start..end)
    }

    /// Splits the region at a huge page boundary.
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
        assert_eq!((after.offset, after.origin_start()), (300, 1000));
    }
}

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

/// The process that created a mapping, and how often it had forked by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creation {
    forks: u32,
    pid: u32,
}

impl Creation {
    const NEVER: Creation = Creation { forks: 0, pid: 0 };

    pub(super) fn now() -> Creation {
        Creation {
            forks: fork_gate::forks(),
            pid: sys::getpid(),
        }
    }

    /// Whether a fork may have shared the mapping with another process since.
    pub fn may_be_inherited(&self) -> bool {
        *self != Creation::now()
    }
}

/// A piece of shared memory with one protection. A mapping has several pieces if the program
/// has unmapped or protected part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Address; 0 for an unused slot.
    pub base: usize,
    /// Length in bytes for the program: whole base pages.
    pub len: usize,
    /// Mapped length in bytes: whole huge pages.
    pub mapped: usize,
    /// Size of its huge pages.
    pub page: usize,
    /// Its protection.
    pub prot: i32,
    /// ID of the mapping or attachment that it belongs to.
    pub origin: u32,
    /// Offset in that mapping.
    pub offset: usize,
    /// Length of that mapping in bytes: whole base pages.
    pub origin_len: usize,
    /// Its kind.
    pub backing: Backing,
    /// The creation of that mapping.
    pub creation: Creation,
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
        origin_len: 0,
        backing: Backing::Anonymous,
        creation: Creation::NEVER,
    };

    /// The range without the padding to whole huge pages.
    pub fn program_range(&self) -> Range<usize> {
        self.base..self.base + self.len
    }

    /// The range with the padding.
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
        let end = match part.end == self.program_range().end {
            true => self.mapped().end,
            false => part.end,
        };
        let is_aligned = |addr: usize| (addr - self.base) % self.page == 0;
        (is_aligned(part.start) && is_aligned(end)).then_some(part.start..end)
    }

    /// Splits the region at a huge page boundary.
    pub(super) fn split_at(&self, at: usize) -> (Region, Region) {
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
        origin_len: 1000,
        ..Region::UNUSED
    };

    #[test]
    fn parts_expand_to_whole_pages() {
        assert_eq!(REGION.whole_pages(&(1100..1200)), Some(1100..1200));
        assert_eq!(REGION.whole_pages(&(1100..1950)), Some(1100..2000));
        assert_eq!(REGION.whole_pages(&(1100..1940)), None);
    }

    #[test]
    fn a_split_leaves_no_gap() {
        let (before, after) = REGION.split_at(1300);
        assert_eq!((before.len, after.len, after.mapped), (300, 650, 700));
        assert_eq!((after.offset, after.origin_start()), (300, 1000));
    }
}

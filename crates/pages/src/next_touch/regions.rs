//! Table of the parked memory: origins and parking addresses.
#![expect(unsafe_code, reason = "maps the table")]

use core::ops::Range;

use super::area;
use crate::sys::Result;

/// Maximum number of regions: each has a VMA of its own, and a process may have 65530.
const MOST: usize = 1 << 16;

/// Number of regions above which the service ends: each search reads all of them.
const CROWDED: usize = 128;

/// Memory that belongs at `origin` and is kept at `parked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Region {
    pub(super) origin: usize,
    pub(super) parked: usize,
    pub(super) len: usize,
}

impl Region {
    pub(super) fn origin(&self) -> Range<usize> {
        self.origin..self.origin + self.len
    }

    pub(super) fn parked(&self) -> Range<usize> {
        self.parked..self.parked + self.len
    }

    fn part(&self, from: usize, to: usize) -> Region {
        Region {
            origin: self.origin + from,
            parked: self.parked + from,
            len: to - from,
        }
    }
}

/// Returns the offsets in `whole` of its overlap with `range`.
fn overlap(whole: &Range<usize>, range: &Range<usize>) -> Option<(usize, usize)> {
    let (start, end) = (whole.start.max(range.start), whole.end.min(range.end));
    (start < end).then(|| (start - whole.start, end - whole.start))
}

#[derive(Debug)]
pub(super) struct Regions {
    all: &'static mut [Region],
    count: usize,
}

impl Regions {
    pub(super) fn new() -> Result<Regions> {
        let at = area::map(
            MOST * size_of::<Region>(),
            libc::PROT_READ | libc::PROT_WRITE,
        )?;
        // SAFETY: mapped for these regions, all zero, and unmapped only when dropped.
        let all = unsafe { core::slice::from_raw_parts_mut(at as *mut Region, MOST) };
        Ok(Regions { all, count: 0 })
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    fn all(&self) -> &[Region] {
        &self.all[..self.count]
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether searches are slow.
    pub(super) fn is_crowded(&self) -> bool {
        self.count > CROWDED
    }

    pub(super) fn add(&mut self, region: Region) {
        if region.len > 0 {
            self.all[self.count] = region;
            self.count += 1;
        }
    }

    /// The region whose origin contains an address.
    pub(super) fn at_origin(&self, addr: usize) -> Option<Region> {
        let mut all = self.all().iter().copied();
        all.find(|region| region.origin().contains(&addr))
    }

    /// The lowest overlap of a parked range with a region.
    pub(super) fn first_parked(&self, parked: &Range<usize>) -> Option<Region> {
        let part = |region: &Region| {
            let (from, to) = overlap(&region.parked(), parked)?;
            Some(region.part(from, to))
        };
        let parts = self.all().iter().filter_map(part);
        parts.min_by_key(|part| part.parked)
    }

    /// The part of an origin range that is in this region.
    pub(super) fn part_at(&self, index: usize, origin: &Range<usize>) -> Option<Region> {
        let region = self.all().get(index)?;
        let (from, to) = overlap(&region.origin(), origin)?;
        Some(region.part(from, to))
    }

    /// Whether part of an origin range is in the table.
    pub(super) fn has(&self, origin: &Range<usize>) -> bool {
        (0..self.count).any(|index| self.part_at(index, origin).is_some())
    }

    /// Takes a part of an origin range out of the table.
    pub(super) fn take_part(&mut self, origin: &Range<usize>) -> Option<Region> {
        let mut all = self.all().iter();
        let at = all.position(|region| overlap(&region.origin(), origin).is_some())?;
        let region = self.all[at];
        let (from, to) = overlap(&region.origin(), origin)?;
        self.count -= 1;
        self.all[at] = self.all[self.count];
        self.add(region.part(0, from));
        self.add(region.part(to, region.len));
        Some(region.part(from, to))
    }
}

impl Drop for Regions {
    fn drop(&mut self) {
        area::unmap(self.all.as_ptr() as usize, size_of_val(self.all));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(origin: usize, parked: usize, len: usize) -> Region {
        Region {
            origin,
            parked,
            len,
        }
    }

    #[test]
    fn parts_are_cut_out_and_found_again() {
        let mut regions = Regions::new().unwrap();
        regions.add(region(100, 1000, 50));
        assert_eq!(regions.take_part(&(120..130)), Some(region(120, 1020, 10)));
        assert_eq!(regions.take_part(&(120..130)), None);
        regions.add(region(500, 1020, 10));
        assert_eq!(regions.at_origin(125), None);
        assert_eq!(regions.at_origin(505), Some(region(500, 1020, 10)));
        let first = |from| regions.first_parked(&(from..1050));
        assert_eq!(first(1010), Some(region(110, 1010, 10)));
        assert_eq!(first(1020), Some(region(500, 1020, 10)));
        assert_eq!(first(1030), Some(region(130, 1030, 20)));
        assert_eq!(first(1050), None);
        assert!(regions.has(&(505..506)) && !regions.has(&(120..130)));
        for hole in 0..1000 {
            regions.add(region(10_000 * hole, 0, 3));
            assert_eq!(
                regions.take_part(&(10_000 * hole + 1..10_000 * hole + 2)),
                Some(region(10_000 * hole + 1, 1, 1))
            );
        }
        assert_eq!(regions.count(), 2003);
    }
}

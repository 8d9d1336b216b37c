//! What belongs where: a table of the memory set aside.

use core::ops::Range;

/// Maximum number of regions.
const MOST: usize = 256;

/// Memory that belongs at `home` and is kept at `aside`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Region {
    pub(super) home: usize,
    pub(super) aside: usize,
    pub(super) len: usize,
}

impl Region {
    pub(super) fn home(&self) -> Range<usize> {
        self.home..self.home + self.len
    }

    pub(super) fn aside(&self) -> Range<usize> {
        self.aside..self.aside + self.len
    }

    /// The part from one offset to another.
    fn part(&self, from: usize, to: usize) -> Region {
        Region {
            home: self.home + from,
            aside: self.aside + from,
            len: to - from,
        }
    }
}

/// Returns the offsets in `whole` of its common part with `range`; `None` if there is none.
fn overlap(whole: &Range<usize>, range: &Range<usize>) -> Option<(usize, usize)> {
    let (start, end) = (whole.start.max(range.start), whole.end.min(range.end));
    (start < end).then(|| (start - whole.start, end - whole.start))
}

/// The table.
#[derive(Debug)]
pub(super) struct Regions {
    all: [Region; MOST],
    count: usize,
}

impl Regions {
    pub(super) const fn new() -> Regions {
        const NONE: Region = Region {
            home: 0,
            aside: 0,
            len: 0,
        };
        Regions {
            all: [NONE; MOST],
            count: 0,
        }
    }

    pub(super) fn all(&self) -> &[Region] {
        &self.all[..self.count]
    }

    /// Whether half of the table is in use: time to end.
    pub(super) fn is_crowded(&self) -> bool {
        self.count > MOST / 2
    }

    /// Adds a region. Panics if the table is full: the contents would be lost.
    pub(super) fn add(&mut self, region: Region) {
        if region.len > 0 {
            self.all[self.count] = region;
            self.count += 1;
        }
    }

    /// The region to which an address belongs.
    pub(super) fn at_home(&self, addr: usize) -> Option<Region> {
        let mut all = self.all().iter().copied();
        all.find(|region| region.home().contains(&addr))
    }

    /// The part of an aside range that comes first and has one home.
    pub(super) fn first_aside(&self, aside: &Range<usize>) -> Option<Region> {
        let part = |region: &Region| {
            let (from, to) = overlap(&region.aside(), aside)?;
            Some(region.part(from, to))
        };
        let parts = self.all().iter().filter_map(part);
        parts.min_by_key(|part| part.aside)
    }

    /// The parts of a home range.
    pub(super) fn parts(&self, home: &Range<usize>) -> impl Iterator<Item = Region> {
        self.all().iter().filter_map(|region| {
            let (from, to) = overlap(&region.home(), home)?;
            Some(region.part(from, to))
        })
    }

    /// Takes a part of a home range out of the table.
    pub(super) fn take_part(&mut self, home: &Range<usize>) -> Option<Region> {
        let mut all = self.all().iter();
        let at = all.position(|region| overlap(&region.home(), home).is_some())?;
        let region = self.all[at];
        let (from, to) = overlap(&region.home(), home)?;
        self.count -= 1;
        self.all[at] = self.all[self.count];
        self.add(region.part(0, from));
        self.add(region.part(to, region.len));
        Some(region.part(from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(home: usize, aside: usize, len: usize) -> Region {
        Region { home, aside, len }
    }

    #[test]
    fn parts_are_cut_out_and_found_again() {
        let mut regions = Regions::new();
        regions.add(region(100, 1000, 50));
        assert_eq!(regions.take_part(&(120..130)), Some(region(120, 1020, 10)));
        assert_eq!(regions.take_part(&(120..130)), None);
        regions.add(region(500, 1020, 10));
        assert_eq!(regions.at_home(125), None);
        assert_eq!(regions.at_home(505), Some(region(500, 1020, 10)));
        let first = |from| regions.first_aside(&(from..1050));
        assert_eq!(first(1010), Some(region(110, 1010, 10)));
        assert_eq!(first(1020), Some(region(500, 1020, 10)));
        assert_eq!(first(1030), Some(region(130, 1030, 20)));
        assert_eq!(first(1050), None);
        assert_eq!(
            regions.parts(&(0..600)).map(|part| part.len).sum::<usize>(),
            50
        );
    }
}

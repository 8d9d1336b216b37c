//! What the request `PAGEMAP_SCAN` of `/proc/<pid>/pagemap` finds, since Linux 6.7:
//! ranges of pages that are alike. Where none of them is huge, they and `maps` say of
//! a process what its smaps say, at a fifth of the time.

use crate::smaps::{self, Record};

/// A page that is there.
pub const PRESENT: u64 = 1 << 3;
/// The page of zeros that stands for memory which was read and never written: it is
/// no memory of the process.
pub const ZERO: u64 = 1 << 5;
/// A huge page, of a pool or transparent.
pub const HUGE: u64 = 1 << 6;

/// A range of pages that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// What its pages are: [`PRESENT`] and so on.
    pub categories: u64,
}

impl Found {
    /// Its length in what the kernel writes.
    pub const LEN: usize = 3 * size_of::<u64>();

    /// Reads what the kernel has written.
    pub fn all(bytes: &[u8]) -> impl Iterator<Item = Found> {
        bytes.chunks_exact(Found::LEN).filter_map(Found::parse)
    }

    fn parse(bytes: &[u8]) -> Option<Found> {
        let mut words = bytes.chunks_exact(size_of::<u64>());
        let mut word = || Some(u64::from_ne_bytes(words.next()?.try_into().ok()?));
        Some(Found {
            start: word()?,
            end: word()?,
            categories: word()?,
        })
    }

    /// How much of it lies in a mapping, and is memory.
    fn within(&self, record: &Record<'_>) -> u64 {
        let (start, end) = (self.start.max(record.start), self.end.min(record.end));
        match self.categories & (PRESENT | ZERO) {
            PRESENT => end.saturating_sub(start),
            _ => 0,
        }
    }
}

/// Where the memory of a process ends, from its `maps`; `None` where only smaps can tell
/// what it has, since a mapping may be of memory that is none of the kernel's to count,
/// as a device's is.
pub fn end_of(maps: &[u8]) -> Option<u64> {
    let mut end = None;
    for record in smaps::heads(maps) {
        if is_of_a_device(record.name) {
            return None;
        }
        // The kernel's own page of calls lies behind all.
        end = Some(record.end).filter(|end| *end < 1 << 63).or(end);
    }
    end
}

/// The records of a process, from its `maps` and the pages that were `found`; `None`
/// where a page is huge, of which smaps tell more.
pub fn records<'a>(maps: &'a [u8], found: &'a [u8]) -> Option<Records<'a>> {
    let is_huge = Found::all(found).any(|found| found.categories & HUGE != 0);
    (!is_huge).then_some(Records { maps, found })
}

/// Whether a mapping may be of a device, whose memory is mapped, but not resident.
fn is_of_a_device(name: &[u8]) -> bool {
    let starts = |all: &[&[u8]]| all.iter().any(|start| name.starts_with(start));
    starts(&[b"/dev/", b"/sys/", b"/proc/", b"anon_inode:"])
        && !starts(&[b"/dev/shm/", b"/dev/zero"])
}

/// See [`records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    maps: &'a [u8],
    found: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let mut heads = smaps::heads(self.maps);
        let mut record = heads.next()?;
        self.maps = heads.rest();
        // Both are in the order of addresses; a range may go on in the next mapping.
        while let Some((bytes, rest)) = self.found.split_at_checked(Found::LEN) {
            let found = Found::parse(bytes)?;
            record.rss += found.within(&record);
            if found.end > record.end {
                break;
            }
            self.found = rest;
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const MAPS: &[u8] = b"1000-3000 r-xp 00000000 fe:00 7      /bin/a b\n\
        3000-5000 rw-p 00002000 fe:00 7                    /bin/a b\n\
        8000-9000 rw-p 00000000 00:00 0\n\
        ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

    fn bytes(found: &[(u64, u64, u64)]) -> Vec<u8> {
        let words = found
            .iter()
            .flat_map(|(start, end, what)| [*start, *end, *what]);
        words.flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn pages_are_counted_where_they_lie() {
        // The first goes from one mapping into the next, as the kernel joins what is alike.
        let found = bytes(&[
            (0x2000, 0x4000, PRESENT),
            (0x4000, 0x5000, PRESENT | ZERO),
            (0x8000, 0x9000, PRESENT),
        ]);
        let all: Vec<_> = records(MAPS, &found).unwrap().collect();
        let told: Vec<_> = all.iter().map(|one| (one.start, one.rss)).collect();
        let vsyscall = 0xffff_ffff_ff60_0000;
        assert_eq!(
            told,
            [
                (0x1000, 0x1000),
                (0x3000, 0x1000),
                (0x8000, 0x1000),
                (vsyscall, 0)
            ]
        );
        assert_eq!(all[0].name, b"/bin/a b");
    }

    #[test]
    fn what_only_smaps_tell_is_left_to_them() {
        assert!(records(MAPS, &bytes(&[(0x1000, 0x2000, PRESENT | HUGE)])).is_none());
        assert_eq!(end_of(MAPS), Some(0x9000));
        let of = |name: &str| {
            let maps = std::format!("1000-3000 rw-s 00000000 00:05 7 {name}\n");
            end_of(maps.as_bytes()).is_some()
        };
        assert!(of("/dev/shm/x") && of("/dev/zero (deleted)") && of("/bin/a"));
        assert!(!of("/dev/dri/card0") && !of("/sys/devices/x/resource0"));
        assert!(!of("anon_inode:[io_uring]"));
    }

    proptest! {
        #[test]
        fn nothing_is_counted_twice(
            pages in prop::collection::vec((0u64..4, 0u64..4, prop::bool::ANY), 0..40),
        ) {
            let mut at = 0;
            let mut found = Vec::new();
            for (gap, len, is_zero) in pages {
                let start = at + gap * 0x1000;
                at = start + len * 0x1000;
                found.push((start, at, if is_zero { PRESENT | ZERO } else { PRESENT }));
            }
            let expected = |from: u64, to: u64| -> u64 {
                let pages = (from / 0x1000..to / 0x1000).map(|page| page * 0x1000);
                let is_there = |page: &u64| found.iter().any(|(start, end, what)| {
                    start <= page && page < end && *what == PRESENT
                });
                pages.filter(is_there).count() as u64 * 0x1000
            };
            for record in records(MAPS, &bytes(&found)).unwrap().take(3) {
                prop_assert_eq!(record.rss, expected(record.start, record.end));
            }
        }
    }
}

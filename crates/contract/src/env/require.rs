//! Segments that must be on huge pages, each with a minimum.

use core::fmt;

use super::value::{parse_number, split_at_colon};
use crate::segment::Segment;

/// The minimum share of a segment that must be on huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All bytes that fill whole huge pages, at least one page.
    Whole,
    /// A percentage of all bytes, 1 to 100.
    Percent(u8),
}

impl Share {
    /// Whether `huge` of `total` bytes are enough. `whole` bytes could be on huge pages.
    pub fn is_met(self, huge: u64, whole: u64, total: u64) -> bool {
        match self {
            Share::Whole => whole > 0 && huge >= whole,
            Share::Percent(percent) => {
                u128::from(huge) * 100 >= u128::from(percent) * u128::from(total.max(1))
            }
        }
    }

    /// Whether `new` bytes may miss huge pages, if `missed` of `total` bytes already do.
    pub fn may_miss(self, new: u64, missed: u64, total: u64) -> bool {
        match self {
            Share::Whole => false,
            Share::Percent(percent) => {
                let (new, missed, total) = (u128::from(new), u128::from(missed), u128::from(total));
                let allowed = u128::from(100 - percent.min(100));
                (missed + new) * 100 <= allowed * (total + new)
            }
        }
    }
}

/// The required segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Require {
    shares: [Option<Share>; Require::SEGMENTS.len()],
}

/// An error in a list of segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequireError<'a> {
    /// Unknown segment, or a segment that cannot be required.
    Segment(&'a [u8]),
    /// Not a percentage from 1 to 100.
    Percent(&'a [u8]),
    /// The same segment twice.
    Twice(Segment),
}

impl Require {
    /// The segments that can be required.
    pub const SEGMENTS: [Segment; 7] = [
        Segment::Text,
        Segment::Data,
        Segment::Bss,
        Segment::Heap,
        Segment::Shm,
        Segment::Anon,
        Segment::Stack,
    ];

    /// No requirement.
    pub const NOTHING: Require = Require {
        shares: [None; Require::SEGMENTS.len()],
    };

    /// Reads `SEGMENT[:PERCENT],…`.
    ///
    /// # Errors
    /// The first error in the list.
    pub fn read(list: &[u8]) -> Result<Require, RequireError<'_>> {
        let mut require = Require::NOTHING;
        for item in list.split(|byte| *byte == b',') {
            let (name, percent) = match split_at_colon(item) {
                Some((name, percent)) => (name, Some(percent)),
                None => (item, None),
            };
            let is_named = |segment: &Segment| segment.name().as_bytes() == name;
            let at = Require::SEGMENTS.iter().position(is_named);
            let at = at.ok_or(RequireError::Segment(name))?;
            let share = percent.map_or(Ok(Share::Whole), share)?;
            if require.shares[at].replace(share).is_some() {
                return Err(RequireError::Twice(Require::SEGMENTS[at]));
            }
        }
        Ok(require)
    }

    /// Reads the variable: a list for every process, or `PID:LIST` for one. Returns `None` if it is
    /// invalid.
    pub(super) fn read_for(value: &[u8], pid: u32) -> Option<Require> {
        let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = value.split_at(digits.count());
        let list = match (digits, rest) {
            ([], list) => list,
            (digits, [b':', list @ ..]) => match parse_number::<u32>(digits)? == pid {
                true => list,
                false => return Some(Require::NOTHING),
            },
            _ => return None,
        };
        Require::read(list).ok()
    }

    /// Returns the minimum of a segment, if it is required.
    pub fn share(&self, segment: Segment) -> Option<Share> {
        let mut all = self.all();
        all.find(|(other, _)| *other == segment)
            .map(|(_, share)| share)
    }

    /// Whether a segment is required.
    pub fn has(&self, segment: Segment) -> bool {
        self.share(segment).is_some()
    }

    /// Whether any segment is required.
    pub fn is_any(&self) -> bool {
        self.all().next().is_some()
    }

    /// Returns all requirements.
    pub fn all(&self) -> impl Iterator<Item = (Segment, Share)> + use<> {
        let all = Require::SEGMENTS.into_iter().zip(self.shares);
        all.filter_map(|(segment, share)| Some((segment, share?)))
    }
}

fn share(percent: &[u8]) -> Result<Share, RequireError<'_>> {
    let is_plain = percent.iter().all(u8::is_ascii_digit);
    let number = parse_number(percent).filter(|number| is_plain && (1..=100).contains(number));
    number
        .map(Share::Percent)
        .ok_or(RequireError::Percent(percent))
}

impl fmt::Display for Require {
    /// Writes the list as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (segment, share) in self.all() {
            write!(f, "{comma}{}", Required(segment, share))?;
            comma = ",";
        }
        Ok(())
    }
}

/// One requirement, written as on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Required(pub Segment, pub Share);

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Required(segment, share) = self;
        match share {
            Share::Whole => f.write_str(segment.name()),
            Share::Percent(percent) => write!(f, "{}:{percent}", segment.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    fn read(list: &str) -> Result<Require, RequireError<'_>> {
        Require::read(list.as_bytes())
    }

    #[test]
    fn lists() {
        let both = read("heap,text:90").unwrap();
        assert_eq!(both.share(Segment::Text), Some(Share::Percent(90)));
        assert_eq!(both.share(Segment::Heap), Some(Share::Whole));
        assert!(!both.has(Segment::Data) && both.is_any());
        assert_eq!(format!("{both}"), "text:90,heap");
        assert_eq!(read(&format!("{both}")), Ok(both));
        assert!(!Require::NOTHING.is_any());
    }

    #[test]
    fn invalid_lists() {
        assert_eq!(read(""), Err(RequireError::Segment(b"")));
        assert_eq!(read("heap,"), Err(RequireError::Segment(b"")));
        assert_eq!(read("file"), Err(RequireError::Segment(b"file")));
        assert_eq!(read("Text"), Err(RequireError::Segment(b"Text")));
        assert_eq!(read("heap,heap:3"), Err(RequireError::Twice(Segment::Heap)));
        for percent in ["", "0", "101", "5%", "+5", "-5", "1.5", "99999999999"] {
            let list = format!("text:{percent}");
            assert_eq!(read(&list), Err(RequireError::Percent(percent.as_bytes())));
        }
    }

    #[test]
    fn lists_for_one_process_or_all() {
        let heap = read("heap").ok();
        let read = |value: &str| Require::read_for(value.as_bytes(), 42);
        assert_eq!(read("42:heap"), heap);
        assert_eq!(read("heap"), heap);
        assert_eq!(read("43:heap"), Some(Require::NOTHING));
        for invalid in ["", "42", "42:", "x:heap", "42:heap:x"] {
            assert_eq!(read(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn minimum_met_or_missed() {
        let whole = Share::Whole;
        assert!(whole.is_met(8, 8, 10) && !whole.is_met(6, 8, 10) && !whole.is_met(0, 0, 10));
        let share = Share::Percent(90);
        assert!(share.is_met(90, 90, 100) && !share.is_met(89, 89, 100) && !share.is_met(0, 0, 0));
    }

    #[test]
    fn bytes_that_may_miss_huge_pages() {
        assert!(!Share::Whole.may_miss(1, 0, 1000));
        let share = Share::Percent(90);
        assert!(share.may_miss(10, 0, 90) && !share.may_miss(11, 0, 90));
        assert!(!share.may_miss(10, 10, 100) && !Share::Percent(100).may_miss(1, 0, 1000));
    }
}

//! `HUGETLB_ELFMAP`: `no`, or the letters `R` and `W` in either case, each with an
//! optional `=SIZE` or (new) `=thp`. After a size, a colon precedes the next letter.

use core::fmt;

use super::value::Pages;
use crate::size;

/// The huge pages that `HUGETLB_ELFMAP` requests for the program's segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Elfmap {
    /// Pages for read-only segments: code and constants.
    pub text: Option<Pages>,
    /// Pages for writable segments: data and bss.
    pub data: Option<Pages>,
    /// `no`: not even marked segments are remapped.
    pub off: bool,
}

impl Elfmap {
    /// The default: only marked segments are remapped.
    pub const NOTHING: Elfmap = Elfmap {
        text: None,
        data: None,
        off: false,
    };

    /// No segment is remapped.
    pub const OFF: Elfmap = Elfmap {
        off: true,
        ..Elfmap::NOTHING
    };

    /// Whether marked segments go to huge pages. An explicit `R` or `W` overrides the marks.
    pub fn heeds_marks(&self) -> bool {
        !self.off && self.text.is_none() && self.data.is_none()
    }

    /// Reads the value. Returns `None` if any part is invalid: the caller then remaps nothing.
    pub(super) fn read(value: &[u8]) -> Option<Elfmap> {
        if value.eq_ignore_ascii_case(b"no") {
            return Some(Elfmap::OFF);
        }
        let mut elfmap = Elfmap::default();
        for part in value.split(|byte| *byte == b':') {
            elfmap.read_part(part)?;
        }
        Some(elfmap)
    }

    /// Reads one part between colons: `R`, `RW`, `W=2M`, `RW=thp`.
    fn read_part(&mut self, part: &[u8]) -> Option<()> {
        let mut rest = part;
        while let [letter, after @ ..] = rest {
            let (pages, after) = match after {
                [b'=', size @ ..] => (read_pages(size)?, &[][..]),
                _ => (Pages::Default, after),
            };
            let class = match letter {
                b'R' | b'r' => &mut self.text,
                b'W' | b'w' => &mut self.data,
                _ => return None,
            };
            if class.replace(pages).is_some() {
                return None;
            }
            rest = after;
        }
        Some(())
    }
}

fn read_pages(value: &[u8]) -> Option<Pages> {
    if value.eq_ignore_ascii_case(b"thp") {
        return Some(Pages::Thp);
    }
    let size = size::parse(value).filter(|size| !size.has_trailing_text)?;
    Some(Pages::Size(size.bytes))
}

impl fmt::Display for Elfmap {
    /// Writes the value of the variable, such as `R:W=2MB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.off {
            return f.write_str("no");
        }
        let mut separator = "";
        for (letter, pages) in [('R', self.text), ('W', self.data)] {
            match pages {
                None => continue,
                Some(Pages::Default) => write!(f, "{separator}{letter}")?,
                Some(pages) => write!(f, "{separator}{letter}={pages}")?,
            }
            separator = ":";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    const DEFAULT: Option<Pages> = Some(Pages::Default);

    fn read(value: &str) -> Option<Elfmap> {
        Elfmap::read(value.as_bytes())
    }

    fn size(bytes: u64) -> Option<Pages> {
        Some(Pages::Size(bytes))
    }

    #[test]
    fn segments_by_class() {
        let of = |text, data| {
            Some(Elfmap {
                text,
                data,
                off: false,
            })
        };
        assert_eq!(read("R"), of(DEFAULT, None));
        assert_eq!(read("rw"), of(DEFAULT, DEFAULT));
        assert_eq!(read("WR"), of(DEFAULT, DEFAULT));
        assert_eq!(read("R:W=1G"), of(DEFAULT, size(1 << 30)));
        assert_eq!(read("RW=1G"), of(DEFAULT, size(1 << 30)));
        assert_eq!(read("R=64k:W=16M"), of(size(64 << 10), size(16 << 20)));
        assert_eq!(read("W=thp"), of(None, Some(Pages::Thp)));
        assert_eq!(read("R:"), of(DEFAULT, None));
        assert_eq!(read("No"), Some(Elfmap::OFF));
        assert!(!Elfmap::OFF.heeds_marks() && read("").unwrap().heeds_marks());
    }

    #[test]
    fn invalid_values_are_rejected() {
        assert_eq!(read("R =2M"), None);
        for value in "x error R:W=lots RR R=2MW R=64kW=16M R= yes noR".split(' ') {
            assert_eq!(read(value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn written_values_parse_back(text in 0u64..1 << 40, data in 0u64..1 << 40) {
            let pages = |n: u64| match n % 5 {
                0 => None,
                1 => Some(Pages::Default),
                2 => Some(Pages::Thp),
                _ => Some(Pages::Size(n)),
            };
            let elfmap = Elfmap { text: pages(text), data: pages(data), off: false };
            prop_assert_eq!(read(&std::format!("{elfmap}")), Some(elfmap));
        }
    }
}

//! The share of the pools that one process may take.

use core::fmt;

use super::value::{Pages, number};
use crate::size;

/// The share of the pools that one process may take for its private memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A number of bytes, summed over all page sizes.
    Bytes(u64),
    /// One Nth of each pool. N is never 0.
    Part(u64),
}

impl Limit {
    /// Reads `1/N` or a size. The second value is true if text after the size was
    /// ignored. Returns `None` for anything else and for 0.
    pub fn read(value: &[u8]) -> Option<(Limit, bool)> {
        let Some(parts) = value.strip_prefix(b"1/") else {
            let size = size::parse(value).ok()?;
            return Some((Limit::Bytes(size.bytes), size.has_trailing_text));
        };
        let parts = number(parts)?;
        (parts > 0).then_some((Limit::Part(parts), false))
    }
}

impl fmt::Display for Limit {
    /// Writes the value of the variable: `1/64`, or a size such as `512MB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Bytes(bytes) => Pages::Size(bytes).fmt(f),
            Limit::Part(parts) => write!(f, "1/{parts}"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::format;

    #[test]
    fn parts_and_sizes() {
        let limit = |value: &str| Limit::read(value.as_bytes());
        assert_eq!(limit("1/64"), Some((Limit::Part(64), false)));
        assert_eq!(limit("512MB"), Some((Limit::Bytes(512 << 20), false)));
        assert_eq!(limit("512MBs"), Some((Limit::Bytes(512 << 20), true)));
        for none in ["", "0", "1/", "1/0", "1/x", "1/4x", "1/-4", "all"] {
            assert_eq!(limit(none), None, "{none}");
        }
        // `2/64` is read as the size 2 with an ignored tail.
        assert_eq!(limit("2/64"), Some((Limit::Bytes(2), true)));
    }

    proptest! {
        #[test]
        fn written_values_parse_back(number in 1u64..1 << 40) {
            for limit in [Limit::Bytes(number), Limit::Part(number)] {
                let text = format!("{limit}");
                prop_assert_eq!(Limit::read(text.as_bytes()), Some((limit, false)));
            }
        }
    }
}

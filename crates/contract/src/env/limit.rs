//! The share of the pools that one process may take.

use core::fmt;

use super::value::{Pages, parse_number};
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
    /// Reads `1/N` or a size. Returns `None` for anything else and for 0.
    pub(super) fn read(value: &[u8]) -> Option<Limit> {
        let Some(parts) = value.strip_prefix(b"1/") else {
            let size = size::parse(value)?;
            return (!size.has_trailing_text).then_some(Limit::Bytes(size.bytes));
        };
        let parts = parse_number(parts)?;
        (parts > 0).then_some(Limit::Part(parts))
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
    use std::string::ToString;

    #[test]
    fn parts_and_sizes() {
        let limit = |value: &str| Limit::read(value.as_bytes());
        for (text, read) in [
            ("1/64", Limit::Part(64)),
            ("512MB", Limit::Bytes(512 << 20)),
        ] {
            assert_eq!(limit(text), Some(read));
            assert_eq!(read.to_string(), text);
        }
        for none in [
            "", "0", "1/", "1/0", "1/x", "1/4x", "1/-4", "all", "512MBs", "2/64",
        ] {
            assert_eq!(limit(none), None, "{none}");
        }
    }
}

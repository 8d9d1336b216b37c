//! Types and parsers for the values of several variables.

use core::fmt;

/// The huge pages that a variable requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The kernel's default huge page size.
    Default,
    /// A page size in bytes.
    Size(u64),
    /// Transparent huge pages; no pool is used.
    Thp,
}

impl fmt::Display for Pages {
    /// Writes the value of the variable: `yes`, a size such as `2MB`, or `thp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Pages::Default => f.write_str("yes"),
            Pages::Thp => f.write_str("thp"),
            Pages::Size(n) if n >= 1 << 30 && n % (1 << 30) == 0 => write!(f, "{}GB", n >> 30),
            Pages::Size(n) if n >= 1 << 20 && n % (1 << 20) == 0 => write!(f, "{}MB", n >> 20),
            Pages::Size(n) if n >= 1 << 10 && n % (1 << 10) == 0 => write!(f, "{}KB", n >> 10),
            Pages::Size(n) => write!(f, "{n}"),
        }
    }
}

/// Splits a value at its first colon.
pub(super) fn split_at_colon(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = value.iter().position(|byte| *byte == b':')?;
    Some((&value[..colon], &value[colon + 1..]))
}

pub(super) fn parse_number<N: core::str::FromStr>(value: &[u8]) -> Option<N> {
    core::str::from_utf8(value).ok()?.parse().ok()
}

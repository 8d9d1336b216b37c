//! Lines of a name and a value, as `MemTotal:  4024476 kB` in `meminfo` and `Seccomp:\t2`
//! in `status`. Names include their delimiter (`b"MemTotal:"`): a longer name doesn't match.

use crate::number;

/// Returns the value of a line without surrounding blanks; `None` if its name differs.
pub fn value_in<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    line.strip_prefix(name).map(<[u8]>::trim_ascii)
}

/// Returns the value of the first line with this name.
pub fn value<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.find_map(|line| value_in(line, name))
}

/// Returns the number of a line without its unit; `None` if its name differs.
pub fn number_in(line: &[u8], name: &[u8]) -> Option<u64> {
    number::leading(value_in(line, name)?)
}

/// Returns the number of the first line with this name, without its unit.
pub fn number(text: &[u8], name: &[u8]) -> Option<u64> {
    number::leading(value(text, name)?)
}

/// A number, or an amount in `kB` (1024 bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// The number.
    pub number: u64,
    /// Whether `kB` follows.
    pub is_kib: bool,
}

impl Quantity {
    /// Parses a value; `None` for anything else.
    pub fn parse(value: &[u8]) -> Option<Quantity> {
        let (number, unit) = number::decimal(value.trim_ascii())?;
        let is_kib = match unit {
            b"" => false,
            [b' ' | b'\t', ..] if unit.trim_ascii() == b"kB" => true,
            _ => return None,
        };
        Some(Quantity { number, is_kib })
    }

    /// Returns the number of bytes; `None` if it does not fit into 64 bits.
    pub fn bytes(self) -> Option<u64> {
        match self.is_kib {
            true => self.number.checked_mul(1024),
            false => Some(self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &[u8] = b"Name:\tVmPin: 7\nVmPin:\t       8 kB\nSeccomp:\t0\nGroups:\t\n";

    #[test]
    fn a_name_begins_its_line() {
        assert_eq!(number(STATUS, b"VmPin:"), Some(8));
        assert_eq!(number(STATUS, b"Seccomp:"), Some(0));
        assert_eq!(number(STATUS, b"Pin:"), None);
        assert_eq!(value(STATUS, b"Groups:"), Some(&b""[..]));
        assert_eq!(value(STATUS, b"Threads:"), None);
        assert_eq!(number_in(b"Threads:\t3", b"Threads:"), Some(3));
    }

    #[test]
    fn quantities_have_an_optional_unit() {
        let of = |text: &[u8]| Quantity::parse(text).map(|it| (it.number, it.bytes()));
        assert_eq!(of(b"  5 kB\r"), Some((5, Some(5120))));
        assert_eq!(of(b"5"), Some((5, Some(5))));
        assert_eq!(of(b"18446744073709551615 kB"), Some((u64::MAX, None)));
        for odd in [&b"5 MB"[..], b"5kB", b"x", b"", b"5 kB 6", b"-5"] {
            assert_eq!(of(odd), None);
        }
    }
}

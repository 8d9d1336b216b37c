//! Bytes, page sizes and page counts: three integer types with checked arithmetic.

use std::fmt;
use std::str::FromStr;

use hugetools_kernfs::size_name::SizeName;
use serde::Serialize;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Bytes(u64);

/// A number of pages of some size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct PageCount(u64);

/// The size of one page in bytes; never zero.
///
/// Displayed as in the names of mount points: `64KB`, `2MB`, `1GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PageSize(u64);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// A number of bytes.
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// Returns the plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of whole pages in these bytes, and the remaining bytes.
    pub const fn pages(self, size: PageSize) -> (PageCount, Bytes) {
        (PageCount(self.0 / size.0), Bytes(self.0 % size.0))
    }

    /// Returns `percent` percent of these bytes, rounded down.
    pub fn percent(self, percent: u64) -> Option<Bytes> {
        let share = u128::from(self.0) * u128::from(percent) / 100;
        u64::try_from(share).ok().map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0 => return f.write_str("0"),
            n if n % TIB == 0 => (TIB, "TB"),
            n if n % GIB == 0 => (GIB, "GB"),
            n if n % MIB == 0 => (MIB, "MB"),
            n if n % KIB == 0 => (KIB, "KB"),
            n => return write!(f, "{n}"),
        };
        write!(f, "{}{name}", self.0 / unit)
    }
}

impl PageCount {
    /// Zero pages.
    pub const ZERO: PageCount = PageCount(0);

    /// A number of pages.
    pub const fn new(pages: u64) -> PageCount {
        PageCount(pages)
    }

    /// Returns the plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number with its noun: `1 page`, `5 pages`.
    pub fn with_noun(self) -> String {
        match self.0 {
            1 => "1 page".to_owned(),
            pages => format!("{pages} pages"),
        }
    }

    /// Returns the sum, or `None` if it overflows.
    pub const fn checked_add(self, other: PageCount) -> Option<PageCount> {
        match self.0.checked_add(other.0) {
            Some(pages) => Some(PageCount(pages)),
            None => None,
        }
    }

    /// Returns the difference, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: PageCount) -> PageCount {
        PageCount(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for PageCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PageSize {
    /// A page size in bytes; `None` for zero.
    pub const fn new(bytes: u64) -> Option<PageSize> {
        if bytes == 0 {
            None
        } else {
            Some(PageSize(bytes))
        }
    }

    /// Converts the kernel's `kB`, which are 1024 bytes each.
    pub fn from_kib(kib: u64) -> Option<PageSize> {
        kib.checked_mul(KIB).and_then(PageSize::new)
    }

    /// Returns the bytes of one page.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the kilobytes of one page, rounded down, as in the kernel's directory names.
    pub const fn kib(self) -> u64 {
        self.0 / KIB
    }

    /// Formats the size as on the kernel's command line: `2M`, `1G`.
    pub fn parameter(self) -> String {
        self.to_string().trim_end_matches('B').to_owned()
    }

    /// Returns the bytes of `count` pages, or `None` if they overflow.
    pub const fn of(self, count: PageCount) -> Option<Bytes> {
        match self.0.checked_mul(count.0) {
            Some(bytes) => Some(Bytes(bytes)),
            None => None,
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SizeName(self.0).fmt(f)
    }
}

/// A number with an optional unit, as on the command line: `64`, `0x40`, `0100` (octal),
/// `2MB`, `1GiB`. The units K, M, G, T with an optional `B`, `i` or `iB`, in either case, are
/// binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    number: u64,
    unit: Option<u64>,
}

impl Quantity {
    /// Returns the number, if it has no unit.
    pub fn plain(self) -> Option<u64> {
        match self.unit {
            None => Some(self.number),
            Some(_) => None,
        }
    }

    /// Returns the number of bytes; without a unit it counts bytes.
    pub fn bytes(self) -> Result<Bytes, SizeError> {
        self.number
            .checked_mul(self.unit.unwrap_or(1))
            .map(Bytes)
            .ok_or(SizeError::Overflow)
    }
}

/// Why a text is not a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeError {
    /// The text doesn't begin with a number.
    NoNumber,
    /// A leading 0 precedes a digit that is not octal.
    NotOctal,
    /// An unknown unit follows the number.
    UnknownUnit,
    /// The number has a fraction.
    Fraction,
    /// The number does not fit into 64 bits.
    Overflow,
    /// A size of zero.
    Zero,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SizeError::NoNumber => "not a number",
            SizeError::NotOctal => "not a number (a leading 0 means octal)",
            SizeError::UnknownUnit => "unknown unit, use K, M, G or T with an optional B, i or iB",
            SizeError::Fraction => "not a whole number; for 1.5G write 1536M",
            SizeError::Overflow => "does not fit into 64 bits",
            SizeError::Zero => "must not be zero",
        })
    }
}

impl std::error::Error for SizeError {}

impl FromStr for Quantity {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Quantity, SizeError> {
        let (radix, digits) = match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &text[2..]),
            [b'0', b'0'..=b'9', ..] => (8, &text[1..]),
            _ => (10, text),
        };
        let end = digits
            .find(|c: char| !c.is_digit(radix))
            .unwrap_or(digits.len());
        if end == 0 {
            return Err(match radix {
                8 => SizeError::NotOctal,
                _ => SizeError::NoNumber,
            });
        }
        let number = u64::from_str_radix(&digits[..end], radix).map_err(|_| SizeError::Overflow)?;
        Ok(Quantity {
            number,
            unit: unit(&digits[end..])?,
        })
    }
}

fn unit(text: &str) -> Result<Option<u64>, SizeError> {
    if text.starts_with(['.', ',']) {
        return Err(SizeError::Fraction);
    }
    let lower = text.to_ascii_lowercase();
    let letter = lower.strip_suffix('b').unwrap_or(&lower);
    let letter = letter.strip_suffix('i').unwrap_or(letter);
    Ok(Some(match (letter, lower.as_str()) {
        ("", "") => return Ok(None),
        ("k", _) => KIB,
        ("m", _) => MIB,
        ("g", _) => GIB,
        ("t", _) => TIB,
        _ => return Err(SizeError::UnknownUnit),
    }))
}

impl FromStr for PageSize {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<PageSize, SizeError> {
        let bytes = text.parse::<Quantity>()?.bytes()?;
        PageSize::new(bytes.get()).ok_or(SizeError::Zero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(text: &str) -> Result<u64, SizeError> {
        text.parse::<Quantity>()
            .and_then(Quantity::bytes)
            .map(Bytes::get)
    }

    #[test]
    fn units_are_binary_and_of_any_case() {
        for text in [
            "2M", "2m", "2MB", "2mb", "2MiB", "2mIb", "2Mi", "2mi", "2048Ki", "2048K", "2097152",
        ] {
            assert_eq!(bytes(text), Ok(2 << 20), "{text}");
        }
        assert_eq!(bytes("1T"), Ok(1 << 40));
        assert_eq!(bytes("0x10"), Ok(16));
        assert_eq!(bytes("010"), Ok(8));
        assert_eq!(bytes("0"), Ok(0));
    }

    #[test]
    fn invalid_texts_are_refused() {
        assert_eq!(bytes(""), Err(SizeError::NoNumber));
        assert_eq!(bytes("MB"), Err(SizeError::NoNumber));
        assert_eq!(bytes("-2M"), Err(SizeError::NoNumber));
        assert_eq!(bytes("+2M"), Err(SizeError::NoNumber));
        assert_eq!(bytes(" 2M"), Err(SizeError::NoNumber));
        assert_eq!(bytes("2mfoo"), Err(SizeError::UnknownUnit));
        assert_eq!(bytes("2.5G"), Err(SizeError::Fraction));
        assert_eq!(bytes("1,5G"), Err(SizeError::Fraction));
        for odd in ["2iB", "2i", "2Mib2", "2Mii", "2Mbi"] {
            assert_eq!(bytes(odd), Err(SizeError::UnknownUnit), "{odd}");
        }
        assert_eq!(bytes("2B"), Err(SizeError::UnknownUnit));
        assert_eq!(bytes("08"), Err(SizeError::NotOctal));
        assert_eq!(bytes("0x"), Err(SizeError::NoNumber));
        assert_eq!(bytes("18446744073709551616"), Err(SizeError::Overflow));
        assert_eq!(bytes("16777216T"), Err(SizeError::Overflow));
        assert_eq!("0".parse::<PageSize>(), Err(SizeError::Zero));
    }

    #[test]
    fn division_is_exact_and_multiplication_checked() {
        let size = PageSize::new(2 << 20).unwrap();
        assert_eq!(
            Bytes::new(5 << 20).pages(size),
            (PageCount::new(2), Bytes::new(1 << 20))
        );
        assert_eq!(size.of(PageCount::new(u64::MAX)), None);
        assert_eq!(
            Bytes::new(u64::MAX).percent(100),
            Some(Bytes::new(u64::MAX))
        );
        assert_eq!(Bytes::new(u64::MAX).percent(101), None);
    }

    proptest! {
        #[test]
        fn written_sizes_parse_back(n in any::<u64>()) {
            prop_assert_eq!(bytes(&Bytes::new(n).to_string()), Ok(n));
        }
    }
}

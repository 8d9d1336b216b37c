//! Single values in reports: percentages, names, JSON.

use core::fmt::{self, Write};

use crate::segment::{Huge, Row};

/// A percentage with one decimal, rounded down: 100.0 means all.
pub struct Tenths(u64);

impl Tenths {
    /// Returns the percentage that `part` is of `whole`; 0 if `whole` is 0.
    pub fn of(part: u64, whole: u64) -> Tenths {
        let tenths = (u128::from(part) * 1000).checked_div(u128::from(whole));
        Tenths(u64::try_from(tenths.unwrap_or(0)).unwrap_or(0))
    }
}

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = f.width().unwrap_or(0).saturating_sub(2);
        write!(f, "{:>width$}.{}", self.0 / 10, self.0 % 10)
    }
}

/// Bytes for a terminal. Control characters and invalid UTF-8 become U+FFFD.
#[derive(Debug, Clone, Copy)]
pub struct Lossy<'a>(pub &'a [u8]);

impl fmt::Display for Lossy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                f.write_char(if c.is_control() { '\u{fffd}' } else { c })?;
            }
            if !chunk.invalid().is_empty() {
                f.write_char('\u{fffd}')?;
            }
        }
        Ok(())
    }
}

/// Names the mechanisms that serve a row, joined by `+`.
pub(super) struct Mechanism<'a>(pub(super) &'a Row<'a>);

impl fmt::Display for Mechanism<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.0;
        let all = [
            ("hugetlb", row.hugetlb),
            ("thp", row.thp),
            ("file", row.file),
        ];
        let mut found = all.iter().filter(|(_, bytes)| *bytes > 0);
        if let Some((name, _)) = found.next() {
            f.write_str(name)?;
        }
        found.try_for_each(|(name, _)| write!(f, "+{name}"))
    }
}

/// Writes an object of bytes by page size.
pub(super) fn write_sizes(out: &mut impl Write, sizes: &[Huge]) -> fmt::Result {
    let mut before = '{';
    for huge in sizes.iter().filter(|huge| huge.bytes > 0) {
        write!(out, "{before}\"{}\":{}", huge.page_size, huge.bytes)?;
        before = ',';
    }
    out.write_str(if before == '{' { "{}" } else { "}" })
}

/// Writes a JSON string or null.
pub(super) fn write_optional(out: &mut impl Write, bytes: Option<&[u8]>) -> fmt::Result {
    match bytes {
        Some(bytes) => write_string(out, bytes),
        None => out.write_str("null"),
    }
}

/// Writes a JSON string. Invalid UTF-8 becomes U+FFFD.
pub(super) fn write_string(out: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    out.write_char('"')?;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.write_str("\\\"")?,
                '\\' => out.write_str("\\\\")?,
                c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
                c => out.write_char(c)?,
            }
        }
        if !chunk.invalid().is_empty() {
            out.write_char('\u{fffd}')?;
        }
    }
    out.write_char('"')
}

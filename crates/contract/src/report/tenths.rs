//! Percentages.

use core::fmt::{self, Write};

/// A percentage with one decimal, rounded down. 100.0 means that nothing is missing.
pub struct Tenths(u64);

impl Tenths {
    /// Returns the percentage that `part` is of `whole`; 0 if `whole` is 0.
    pub fn of(part: u64, whole: u64) -> Tenths {
        match whole {
            0 => Tenths(0),
            whole => {
                let tenths = u128::from(part) * 1000 / u128::from(whole);
                Tenths(u64::try_from(tenths).unwrap_or(0))
            }
        }
    }
}

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Short::default();
        write!(text, "{}.{}", self.0 / 10, self.0 % 10)?;
        f.pad(text.as_str())
    }
}

/// A buffer for a short number, so that it can be padded.
#[derive(Default)]
struct Short {
    bytes: [u8; 24],
    len: usize,
}

impl Short {
    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let place = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one_byte_is_not_all() {
        let tenths = |part, whole| Tenths::of(part, whole).0;
        assert_eq!(tenths((1 << 40) - 1, 1 << 40), 999);
        assert_eq!(tenths(1 << 40, 1 << 40), 1000);
        assert_eq!(tenths(5, 0), 0);
    }
}

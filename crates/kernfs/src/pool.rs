//! Pool directories: `hugepages-2048kB`.

use crate::number;

/// Returns the page size in kilobytes from a directory name; `None` for other names.
pub fn kib_of_dir(name: &[u8]) -> Option<u64> {
    let (kib, unit) = number::decimal(name.strip_prefix(b"hugepages-")?)?;
    (unit == b"kB" && kib > 0).then_some(kib)
}

/// Returns the value of a page counter. Kernel bugs can push reservation counters below zero:
/// the kernel prints them as huge unsigned numbers, which this function turns into 0.
pub fn count(number: u64) -> u64 {
    match i64::try_from(number) {
        Ok(_) => number,
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_counters_are_zero() {
        let below = 58_u64.wrapping_neg();
        assert_eq!(number::parse_whole(b"18446744073709551558"), Some(below));
        assert_eq!([0, 58, below].map(count), [0, 58, 0]);
    }

    #[test]
    fn directory_names_contain_the_size() {
        assert_eq!(kib_of_dir(b"hugepages-2048kB"), Some(2048));
        for odd in [
            &b"hugepages-2048"[..],
            b"hugepages-kB",
            b"hugepages-0kB",
            b"enabled",
        ] {
            assert_eq!(kib_of_dir(odd), None);
        }
    }
}

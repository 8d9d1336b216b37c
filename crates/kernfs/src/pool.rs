//! Folders of pools: `hugepages-2048kB`.

use crate::number;

/// The size of pages, in kilobytes, that the name of a folder tells; `None` for any
/// other name.
pub fn kib_of_dir(name: &[u8]) -> Option<u64> {
    let (kib, unit) = number::decimal(name.strip_prefix(b"hugepages-")?)?;
    (unit == b"kB" && kib > 0).then_some(kib)
}

/// What a counter of pages counts, by the number that the kernel says. One that has gone
/// below zero, as those of reservations have by faults of the kernel's, is said as the number
/// of 64 bits that it is without a sign: there is none then.
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
    fn what_has_gone_below_zero_is_none() {
        let below = 58_u64.wrapping_neg();
        assert_eq!(number::alone(b"18446744073709551558"), Some(below));
        assert_eq!([0, 58, below].map(count), [0, 58, 0]);
    }

    #[test]
    fn a_folder_tells_its_size() {
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

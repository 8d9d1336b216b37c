//! Folders of pools: `hugepages-2048kB`.

use crate::number;

/// The size of pages, in kilobytes, that the name of a folder tells; `None` for any
/// other name.
pub fn kib_of_dir(name: &[u8]) -> Option<u64> {
    let (kib, unit) = number::decimal(name.strip_prefix(b"hugepages-")?)?;
    (unit == b"kB" && kib > 0).then_some(kib)
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! The page allocator: `/proc/buddyinfo` and `/proc/zoneinfo`.
//!
//! A huge page larger than the largest block of the buddy allocator is
//! *gigantic*: made by searching for contiguous memory, and without
//! overcommit before Linux 6.19.

use crate::error::FileError;
use crate::kpath::KPath;
use crate::root::Root;
use crate::size::Bytes;

/// The largest block that the buddy allocator hands out; `None` where the
/// files do not tell.
pub fn largest_block(root: &Root, memory: Bytes) -> Result<Option<Bytes>, FileError> {
    let buddyinfo = root.read_opt(&KPath::from("/proc/buddyinfo"))?;
    let Some(orders) = buddyinfo.as_deref().and_then(parse_orders) else {
        return Ok(None);
    };
    let base = base_page_size(root, memory)?;
    let block = base.and_then(|base| base.get().checked_shl(orders - 1));
    Ok(block.map(Bytes::new))
}

/// The size of an ordinary page. A running system says it in the auxiliary
/// vector of every process; for a recorded tree it is the memory divided by
/// the number of pages that the zones manage.
pub fn base_page_size(root: &Root, memory: Bytes) -> Result<Option<Bytes>, FileError> {
    let auxv = root.read_opt(&KPath::from("/proc/self/auxv"))?;
    if let Some(size) = auxv.as_deref().and_then(parse_page_size) {
        return Ok(Some(size));
    }
    let zoneinfo = root.read_opt(&KPath::from("/proc/zoneinfo"))?;
    let pages = zoneinfo.as_deref().map_or(0, parse_managed);
    Ok(memory.get().checked_div(pages).and_then(nearest_power))
}

/// The memory of the zones and `MemTotal` are not taken at the same moment.
fn nearest_power(bytes: u64) -> Option<Bytes> {
    (1..)
        .map_while(|shift| 1u64.checked_shl(shift))
        .find(|power| bytes <= power + power / 2)
        .map(Bytes::new)
}

/// How many orders of blocks there are: the counts on a line such as
/// `Node 0, zone   Normal   1   0   2`.
pub fn parse_orders(buddyinfo: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(buddyinfo);
    let (_, counts) = text.lines().next()?.split_once("zone")?;
    let counts = counts.split_ascii_whitespace().skip(1).count();
    u32::try_from(counts).ok().filter(|counts| *counts > 0)
}

/// The pages that the allocator manages, over all zones of `zoneinfo`.
pub fn parse_managed(zoneinfo: &[u8]) -> u64 {
    String::from_utf8_lossy(zoneinfo)
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("managed"))
        .filter_map(|count| count.trim().parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

/// `AT_PAGESZ` of an auxiliary vector: pairs of machine words.
fn parse_page_size(auxv: &[u8]) -> Option<Bytes> {
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    auxv.chunks_exact(2 * WORD).find_map(|pair| {
        let (key, value) = pair.split_at(WORD);
        let wanted = word(key)? == usize::try_from(libc::AT_PAGESZ).ok()?;
        let value = u64::try_from(word(value)?).ok()?;
        (wanted && value.is_power_of_two()).then_some(Bytes::new(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_counted_on_a_line() {
        let line = b"Node 0, zone   Normal      1      0      2      1      1      5      5      2    230 \n";
        assert_eq!(parse_orders(line), Some(9));
        assert_eq!(parse_orders(b""), None);
        assert_eq!(parse_orders(b"Node 0, zone Normal\n"), None);
    }

    #[test]
    fn managed_pages_are_summed_over_zones() {
        let text =
            b"Node 0, zone      DMA\n        managed  3840\n  pages free 1\n        managed  503520\n";
        assert_eq!(parse_managed(text), 507_360);
    }

    #[test]
    fn the_page_size_is_the_power_of_two_next_to_the_quotient() {
        for (bytes, size) in [(4096, 4096), (4090, 4096), (4100, 4096), (65_535, 65_536)] {
            assert_eq!(nearest_power(bytes), Some(Bytes::new(size)));
        }
        assert_eq!(nearest_power(u64::MAX), None);
    }

    #[test]
    fn the_auxiliary_vector_says_the_page_size() {
        let words: [usize; 6] = [33, 0x7ffe, 6, 16384, 0, 0];
        let auxv: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(parse_page_size(&auxv), Some(Bytes::new(16384)));
        assert_eq!(parse_page_size(&auxv[..20]), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_orders(&bytes);
            let _ = parse_managed(&bytes);
            let _ = parse_page_size(&bytes);
        }
    }
}

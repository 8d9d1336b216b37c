//! The free blocks of the buddy allocator: `/proc/buddyinfo`, and by migrate type
//! `/proc/pagetypeinfo`, which only root may read.
//!
//! A block of order n is 2^n base pages.

use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;

/// The free blocks of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// The node.
    pub node: u32,
    /// The zone's name.
    pub zone: String,
    /// The number of free blocks of each order, from 0 on.
    pub counts: Vec<u64>,
}

impl Blocks {
    /// Returns how many blocks of an order these can be split into.
    pub fn of_order(&self, order: usize) -> u64 {
        let larger = self.counts.iter().enumerate().skip(order);
        larger.fold(0, |sum: u64, (at, count)| {
            sum.saturating_add(pages(*count, at - order))
        })
    }

    /// Returns the base pages of all blocks.
    pub fn pages(&self) -> u64 {
        self.of_order(0)
    }
}

fn pages(count: u64, order: usize) -> u64 {
    let block = u32::try_from(order)
        .ok()
        .and_then(|order| 1u64.checked_shl(order));
    count.saturating_mul(block.unwrap_or(u64::MAX))
}

/// Reads the free blocks of each zone; `None` if the file is missing.
///
/// # Errors
/// The file exists but cannot be read.
pub fn read(root: &Root) -> Result<Option<Vec<Blocks>>, FileError> {
    let bytes = root.read_opt(&KPath::from("/proc/buddyinfo"))?;
    Ok(bytes.as_deref().map(parse))
}

/// Reads the free blocks of each zone that no huge page can use: the high-atomic reserve
/// and isolated blocks. `None` if the file is missing.
///
/// # Errors
/// The file exists but cannot be read.
pub fn read_kept(root: &Root) -> Result<Option<Vec<Blocks>>, FileError> {
    let bytes = root.read_opt(&KPath::from("/proc/pagetypeinfo"))?;
    Ok(bytes.as_deref().map(parse_kept))
}

/// Parses lines such as `Node 0, zone   Normal      1      0      2`.
pub fn parse(buddyinfo: &[u8]) -> Vec<Blocks> {
    let text = String::from_utf8_lossy(buddyinfo);
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Blocks> {
    let (node, rest) = head(line)?;
    let mut words = rest.split_ascii_whitespace();
    let zone = words.next()?.to_owned();
    let counts: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
    Some(Blocks {
        node,
        zone,
        counts: counts.filter(|counts| !counts.is_empty())?,
    })
}

/// Parses lines such as `Node    0, zone   Normal, type   HighAtomic      0      1`. The
/// kernel caps a count and prints it as `>100000`.
pub fn parse_kept(pagetypeinfo: &[u8]) -> Vec<Blocks> {
    let text = String::from_utf8_lossy(pagetypeinfo);
    text.lines().filter_map(parse_kept_line).collect()
}

fn parse_kept_line(line: &str) -> Option<Blocks> {
    let (node, rest) = head(line)?;
    let (zone, rest) = rest.split_once(", type")?;
    let mut words = rest.split_ascii_whitespace();
    if !matches!(words.next()?, "HighAtomic" | "Isolate") {
        return None;
    }
    let count = |word: &str| word.trim_start_matches('>').parse().ok();
    Some(Blocks {
        node,
        zone: zone.trim().to_owned(),
        counts: words.map(count).collect::<Option<Vec<u64>>>()?,
    })
}

/// Returns the node and the text after `zone`.
fn head(line: &str) -> Option<(u32, &str)> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(", zone ")?;
    Some((node.trim().parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_split_but_not_merged() {
        let zones = parse(b"Node 0, zone   Normal      5      1      3\nNode 1, zone DMA x\n");
        assert_eq!(zones.len(), 1);
        assert_eq!((zones[0].node, zones[0].zone.as_str()), (0, "Normal"));
        let of = |order| zones[0].of_order(order);
        assert_eq!([of(0), of(1), of(2), of(3)], [19, 7, 3, 0]);
    }

    #[test]
    fn two_migrate_types_are_kept_from_huge_pages() {
        let text = b"Page block order: 9\n\n\
            Node    0, zone    DMA32, type      Movable     91     91\n\
            Node    0, zone    DMA32, type   HighAtomic      2      1\n\
            Node    1, zone   Normal, type      Isolate >100000      0\n\
            Node 0, zone      DMA            1            7\n";
        let kept = parse_kept(text);
        let kept: Vec<_> = kept
            .iter()
            .map(|it| (it.node, &*it.zone, it.pages()))
            .collect();
        assert_eq!(kept, [(0, "DMA32", 4), (1, "Normal", 100_000)]);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = parse_kept(&bytes);
        }

        #[test]
        fn no_count_is_too_large(counts in prop::collection::vec(any::<u64>(), 0..90), order in 0..90usize) {
            let blocks = Blocks { node: 0, zone: String::new(), counts };
            prop_assert!(blocks.of_order(order + 1) <= blocks.of_order(order));
        }
    }
}

//! The free blocks of the buddy allocator: `/proc/buddyinfo`. A block of order n is 2^n
//! base pages.

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
    /// Returns the number of blocks of this order after larger blocks are split.
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
pub fn read(root: &Root) -> Result<Option<Vec<Blocks>>, FileError> {
    let bytes = root.read_opt(&KPath::from("/proc/buddyinfo"))?;
    Ok(bytes.as_deref().map(parse))
}

/// Parses lines such as `Node 0, zone   Normal      1      0      2`.
pub fn parse(buddyinfo: &[u8]) -> Vec<Blocks> {
    let text = String::from_utf8_lossy(buddyinfo);
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Blocks> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(", zone ")?;
    let mut words = rest.split_ascii_whitespace();
    let zone = words.next()?.to_owned();
    let counts: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
    Some(Blocks {
        node: node.trim().parse().ok()?,
        zone,
        counts: counts.filter(|counts| !counts.is_empty())?,
    })
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

    proptest! {
        #[test]
        fn counts_are_monotone(
            counts in prop::collection::vec(any::<u64>(), 0..90),
            order in 0..90usize,
        ) {
            let blocks = Blocks { node: 0, zone: String::new(), counts };
            prop_assert!(blocks.of_order(order + 1) <= blocks.of_order(order));
        }
    }
}

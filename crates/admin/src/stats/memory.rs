//! Computes how many huge pages of each size the page allocator could hand out now,
//! without reclaim or compaction.

use std::collections::BTreeMap;

use hugetools_model::PageSize;
use hugetools_model::memory::buddy::Blocks;
use hugetools_model::memory::zone::Zone;
use serde::Serialize;

use super::Snapshot;

/// The free memory of a node in pages of one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The node.
    pub node: u32,
    /// The page size.
    pub size: PageSize,
    /// Free memory divided by the page size.
    pub free: Option<u64>,
    /// Pages that could be allocated now; unknown for gigantic pages, which have no free lists.
    pub available: Option<u64>,
    /// An upper bound of `available`.
    pub at_most: Option<u64>,
}

/// Returns the rows, sorted by size and node.
pub(super) fn rows(seen: &Snapshot) -> Vec<Memory> {
    let mut nodes: Vec<u32> = seen.zones.iter().map(|zone| zone.node).collect();
    nodes.extend(seen.free_blocks.iter().flatten().map(|blocks| blocks.node));
    nodes.sort_unstable();
    nodes.dedup();
    let sizes = seen.sizes();
    let of = |size: &PageSize| {
        let size = *size;
        nodes.iter().map(move |node| row(seen, *node, size))
    };
    sizes.iter().flat_map(of).collect()
}

/// Sums the available pages of each size over all nodes; unknown if one node is unknown.
pub(super) fn sums(rows: &[Memory]) -> BTreeMap<u64, Option<u64>> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(row.size.get()).or_insert(Some(0u64));
        *sum = add(*sum, row.available);
    }
    sums
}

/// Returns the sum; unknown if one value is unknown.
fn add(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

fn row(seen: &Snapshot, node: u32, size: PageSize) -> Memory {
    let unknown = Memory {
        node,
        size,
        free: None,
        available: None,
        at_most: None,
    };
    of_node(seen, &unknown).unwrap_or(unknown)
}

fn order(seen: &Snapshot, size: PageSize) -> Option<usize> {
    let pages = size.get().checked_div(seen.base_page?.get())?;
    let is_whole = pages.is_power_of_two() && pages > 1;
    usize::try_from(pages.checked_ilog2().filter(|_| is_whole)?).ok()
}

/// Sums up the zones of a node. Huge pages may use a zone's free pages above its low
/// watermark plus lowmem_reserve.
fn of_node(seen: &Snapshot, row: &Memory) -> Option<Memory> {
    let order = order(seen, row.size)?;
    let of_node = |blocks: &&Blocks| blocks.node == row.node;
    let (mut free, mut at_most, mut is_listed) = (0u64, 0u64, true);
    for blocks in seen.free_blocks.as_ref()?.iter().filter(of_node) {
        let is_same = |zone: &&Zone| zone.node == row.node && zone.name == blocks.zone;
        let zone = seen.zones.iter().find(is_same)?;
        let usable = blocks
            .pages()
            .saturating_sub(zone.low.saturating_add(zone.protection));
        let largest = blocks.counts.len() - 1;
        let unfragmented = blocks.of_order(order.min(largest)) >> order.saturating_sub(largest);
        free = free.saturating_add(blocks.pages());
        at_most = at_most.saturating_add(unfragmented.min(usable >> order));
        is_listed &= order <= largest;
    }
    Some(Memory {
        free: Some(free >> order),
        available: is_listed.then_some(at_most),
        at_most: Some(at_most),
        ..*row
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_model::Bytes;
    use hugetools_model::memory::buddy::parse;
    use hugetools_model::memory::zone::parse_zones;

    fn seen(low: u64, protection: u64) -> Snapshot {
        let zones = format!(
            "Node 0, zone   Normal\n  pages free 900\n   low {low}\n   protection: (0, {protection})\n"
        );
        Snapshot {
            base_page: Some(Bytes::new(4096)),
            zones: parse_zones(zones.as_bytes()),
            // 100 single pages, 10 blocks of 8, 4 of 16.
            free_blocks: Some(parse(b"Node 0, zone Normal 100 0 0 10 4\n")),
            ..Snapshot::default()
        }
    }

    fn available(seen: &Snapshot, kib: u64) -> (Option<u64>, Option<u64>) {
        let row = row(seen, 0, PageSize::new(kib << 10).unwrap());
        (row.available, row.at_most)
    }

    #[test]
    fn counts_only_large_enough_blocks() {
        let seen = seen(10, 0);
        assert_eq!(available(&seen, 32), (Some(18), Some(18)));
        assert_eq!(available(&seen, 64), (Some(4), Some(4)));
        let whole = row(&seen, 0, PageSize::new(32 << 10).unwrap());
        assert_eq!(whole.free, Some((100 + 80 + 64) / 8));
    }

    #[test]
    fn keeps_the_watermark_and_lowmem_reserve() {
        // There are 244 free pages.
        assert_eq!(available(&seen(204, 0), 32).0, Some(5));
        assert_eq!(available(&seen(100, 104), 32).0, Some(5));
        assert_eq!(available(&seen(240, 0), 32).0, Some(0));
    }

    #[test]
    fn gigantic_pages_have_only_an_upper_bound() {
        assert_eq!(available(&seen(0, 0), 128), (None, Some(2)));
        assert_eq!(available(&seen(0, 0), 1 << 20), (None, Some(0)));
    }
}

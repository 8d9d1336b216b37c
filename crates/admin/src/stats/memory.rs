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
    /// Pages that could be allocated now. `None` for gigantic pages, for which the
    /// page allocator has no free lists.
    pub available: Option<u64>,
    /// An upper bound of `available`.
    pub at_most: Option<u64>,
}

/// Returns the rows, sorted by size and node.
pub(super) fn rows(seen: &Snapshot) -> Vec<Memory> {
    let mut nodes: Vec<u32> = seen.zones.iter().map(|zone| zone.node).collect();
    nodes.extend(seen.blocks.iter().flatten().map(|blocks| blocks.node));
    nodes.sort_unstable();
    nodes.dedup();
    let sizes = seen.sizes();
    let of = |size: &PageSize| {
        let size = *size;
        nodes.iter().map(move |node| row(seen, *node, size))
    };
    sizes.iter().flat_map(of).collect()
}

/// Sums over all nodes; unknown if one node is unknown.
pub(super) fn sums(rows: &[Memory]) -> BTreeMap<u64, Option<u64>> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(row.size.get()).or_insert(Some(0u64));
        *sum = add(*sum, row.available);
    }
    sums
}

/// The sum; unknown if one value is unknown.
fn add(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

fn row(seen: &Snapshot, node: u32, size: PageSize) -> Memory {
    let found = order(seen, size).and_then(|order| of_node(seen, node, order));
    Memory {
        node,
        size,
        free: found.map(|found| found.free),
        available: found.and_then(|found| found.available),
        at_most: found.map(|found| found.at_most),
    }
}

fn order(seen: &Snapshot, size: PageSize) -> Option<usize> {
    let pages = size.get().checked_div(seen.base_page?.get())?;
    let is_whole = pages.is_power_of_two() && pages > 1;
    usize::try_from(pages.checked_ilog2().filter(|_| is_whole)?).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    free: u64,
    available: Option<u64>,
    at_most: u64,
}

fn of_node(seen: &Snapshot, node: u32, order: usize) -> Option<Found> {
    let of_node = |blocks: &&Blocks| blocks.node == node;
    let mut found = Found {
        free: 0,
        available: Some(0),
        at_most: 0,
    };
    let mut free = 0;
    for blocks in seen.blocks.as_ref()?.iter().filter(of_node) {
        let same = |zone: &&Zone| zone.node == node && zone.name == blocks.zone;
        let zone = seen.zones.iter().find(same)?;
        let here = of_zone(zone, blocks, order);
        free = blocks.pages().saturating_add(free);
        found.available = add(found.available, here.available);
        found.at_most = found.at_most.saturating_add(here.at_most);
    }
    found.free = free >> order;
    Some(found)
}

/// Computes the pages in one zone. Huge pages may use every zone, but not its low
/// watermark nor lowmem_reserve.
fn of_zone(zone: &Zone, blocks: &Blocks, order: usize) -> Found {
    let kept = zone.low.saturating_add(zone.protection);
    let beyond = blocks.pages().saturating_sub(kept) >> order;
    let is_listed = order < blocks.counts.len();
    let largest = blocks.counts.len() - 1;
    let in_blocks = match is_listed {
        true => blocks.of_order(order),
        false => blocks.of_order(largest) >> (order - largest),
    };
    let at_most = in_blocks.min(beyond);
    Found {
        free: blocks.pages() >> order,
        available: is_listed.then_some(at_most),
        at_most,
    }
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
            blocks: Some(parse(b"Node 0, zone Normal 100 0 0 10 4\n")),
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

    #[test]
    fn missing_files_give_unknown() {
        let all = seen(0, 0);
        for less in [
            Snapshot {
                blocks: None,
                ..all.clone()
            },
            Snapshot {
                zones: Vec::new(),
                ..all.clone()
            },
            Snapshot {
                base_page: None,
                ..all
            },
        ] {
            assert_eq!(available(&less, 64), (None, None));
        }
    }
}

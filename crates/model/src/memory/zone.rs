//! The page allocator's zones: `/proc/buddyinfo` and `/proc/zoneinfo`.
//!
//! A *gigantic* page is larger than the largest block of the buddy allocator, so the kernel
//! must find contiguous memory for it. It has no overcommit before Linux 6.19.

use hugetools_kernfs::auxv;

use crate::memory::buddy;
use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::size::Bytes;

/// A memory zone of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// The node.
    pub node: u32,
    /// The name, such as `DMA32`, `Normal` or `Movable`.
    pub name: String,
    /// Present pages.
    pub present: u64,
    /// Pages managed by the page allocator.
    pub managed: u64,
    /// Low watermark in pages (`low`): below it, kswapd starts to reclaim.
    pub low: u64,
    /// High watermark in pages (`high`): above it, kswapd stops.
    pub high: u64,
    /// Free pages protected from allocations that can use a higher zone (largest `lowmem_reserve`).
    pub protection: u64,
}

impl Zone {
    /// Whether the kernel may put any of its data into this zone (low memory).
    pub fn is_low(&self) -> bool {
        !matches!(self.name.as_str(), "Movable" | "HighMem" | "Device")
    }
}

/// Reads the zones. Returns none if the kernel lacks the file.
pub fn read(root: &Root) -> Result<Vec<Zone>, FileError> {
    let zoneinfo = root.read_opt(&KPath::from("/proc/zoneinfo"))?;
    Ok(zoneinfo.as_deref().map(parse_zones).unwrap_or_default())
}

/// Parses `zoneinfo`. A line `Node 0, zone   Normal` begins a zone; lines such as
/// `managed  503520` follow.
pub fn parse_zones(zoneinfo: &[u8]) -> Vec<Zone> {
    let mut zones: Vec<Zone> = Vec::new();
    for line in zoneinfo.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        if let Some(zone) = parse_heading(&line) {
            zones.push(zone);
            continue;
        }
        if let Some(zone) = zones.last_mut() {
            store_field(zone, line.trim_ascii());
        }
    }
    zones
}

/// Stores the value of a line in the zone.
fn store_field(zone: &mut Zone, line: &str) {
    if let Some(list) = line.strip_prefix("protection: (") {
        let numbers = list.trim_end_matches(')').split(", ");
        let max = numbers.filter_map(|number| number.parse().ok()).max();
        zone.protection = max.unwrap_or(0);
    }
    let Some((name, number)) = line.rsplit_once(' ') else {
        return;
    };
    let Ok(number) = number.parse() else { return };
    match name.trim_ascii_end() {
        "low" => zone.low = number,
        "high" => zone.high = number,
        "present" => zone.present = number,
        "managed" => zone.managed = number,
        _ => {}
    }
}

fn parse_heading(line: &str) -> Option<Zone> {
    let (node, name) = line.strip_prefix("Node ")?.split_once(", zone")?;
    let name = name.strip_prefix(|c: char| c.is_ascii_whitespace())?.trim();
    Some(Zone {
        node: node.parse().ok()?,
        name: (!name.is_empty()).then(|| name.to_owned())?,
        present: 0,
        managed: 0,
        low: 0,
        high: 0,
        protection: 0,
    })
}

/// Returns the size of the buddy allocator's largest block, if the files show it.
pub fn largest_block(root: &Root, base: Option<Bytes>) -> Result<Option<Bytes>, FileError> {
    let zones = buddy::read(root)?.unwrap_or_default();
    let orders = zones.first().map(|blocks| blocks.counts.len() - 1);
    let order = orders.and_then(|orders| u32::try_from(orders).ok());
    let block = base.zip(order);
    let block = block.and_then(|(base, order)| base.get().checked_shl(order));
    Ok(block.map(Bytes::new))
}

/// Returns the size of a base page: from `/proc/self/auxv` if that exists, otherwise
/// `MemTotal` (`memory`) divided by the present pages, as a power of two.
pub fn base_page_size(
    root: &Root,
    memory: Bytes,
    zones: &[Zone],
) -> Result<Option<Bytes>, FileError> {
    let auxv = root.read_opt(&KPath::from("/proc/self/auxv"))?;
    if let Some(size) = auxv.as_deref().and_then(parse_page_size) {
        return Ok(Some(size));
    }
    // Device pages are present, but `MemTotal` excludes them.
    let pages = zones.iter().filter(|zone| zone.name != "Device");
    let pages = pages.fold(0, |sum: u64, zone| sum.saturating_add(zone.present));
    Ok(memory.get().checked_div(pages).and_then(nearest_power))
}

/// Returns the nearest power of two: the quotient is too low, since only `MemTotal` excludes
/// reserved pages.
fn nearest_power(bytes: u64) -> Option<Bytes> {
    (1..)
        .map_while(|shift| 1u64.checked_shl(shift))
        .find(|power| bytes <= power + power / 2)
        .map(Bytes::new)
}

/// Returns `AT_PAGESZ` of an auxiliary vector of a process of this machine's word size.
fn parse_page_size(bytes: &[u8]) -> Option<Bytes> {
    let size = auxv::value(bytes, size_of::<usize>(), auxv::PAGE_SIZE);
    size.filter(|size| size.is_power_of_two()).map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_belong_to_the_zone_above() {
        let text =
            b"Node 0, zone      DMA\n  per-node stats\n      nr_dirty 7\n  pages free     3840\n\
            \x20       low      13\n        present  3998\n        managed  3840\n        cma      0\n\
            \x20       protection: (0, 2974, 31857, 31857)\n  pagesets\n    high:  7\n\
            Node 12, zone  Movable\n        present  0\n        managed  0 (odd)\n";
        let zones = parse_zones(text);
        assert_eq!(zones.len(), 2);
        assert_eq!((zones[0].present, zones[0].managed), (3998, 3840));
        assert_eq!((zones[1].node, zones[1].name.as_str()), (12, "Movable"));
        assert_eq!((zones[0].low, zones[0].protection), (13, 31857));
        assert!(zones[0].is_low() && !zones[1].is_low());
        assert_eq!(
            parse_zones(b"Node x, zone DMA\nNode 0, zone\nmanaged 1\n"),
            []
        );
    }

    #[test]
    fn the_page_size_is_the_nearest_power_of_two() {
        for (bytes, size) in [(4096, 4096), (4090, 4096), (4100, 4096), (65_535, 65_536)] {
            assert_eq!(nearest_power(bytes), Some(Bytes::new(size)));
        }
        assert_eq!(nearest_power(u64::MAX), None);
    }

    #[test]
    fn the_page_size_is_read_from_the_auxiliary_vector() {
        let words: [usize; 6] = [33, 0x7ffe, 6, 16384, 0, 0];
        let auxv: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(parse_page_size(&auxv), Some(Bytes::new(16384)));
        assert_eq!(parse_page_size(&auxv[..20]), None);
    }
}

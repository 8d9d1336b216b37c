//! `--sizes`: the folio sizes of each segment.

use std::collections::BTreeMap;
use std::fmt::Write;

use hugetools_contract::report::Tenths;
use hugetools_contract::segment::{ALL, Extent, Huge, Row, Segment, pieces};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::zone;
use hugetools_model::process::Pid;
use hugetools_model::process::folio::{Frames, Pages, Sizes};
use hugetools_model::size_name::SizeName;
use hugetools_model::smaps::Record;
use hugetools_model::{Bytes, FileError, PageSize, Root, thp};

/// Resident bytes by segment and object, and by folio size.
pub(super) type Folios<'s> = BTreeMap<(Segment, Option<&'s [u8]>), Sizes>;

/// Opens `/proc/kpageflags`.
///
/// # Errors
/// They may not be read.
pub fn frames(root: &Root) -> Result<Frames, FileError> {
    let meminfo = Meminfo::read(root)?;
    let page = base_page(root, &meminfo)?;
    let largest = thp::pmd_size(root)?.or(meminfo.huge_page_size);
    Frames::open(root, page, largest.map_or(page, PageSize::get))
}

pub(crate) fn base_page(root: &Root, meminfo: &Meminfo) -> Result<u64, FileError> {
    let page = zone::base_page_size(root, meminfo.total, &[])?;
    Ok(page.map_or(4096, Bytes::get))
}

/// Reads the folios behind these mappings.
pub(super) fn read<'s>(
    root: &Root,
    pid: Pid,
    frames: &mut Frames,
    mappings: &[Record<'s>],
    extents: &[Extent<'s>],
) -> Result<Folios<'s>, FileError> {
    let pages = Pages::open(root, pid)?;
    let mut folios = Folios::new();
    let mut result = Ok(());
    // A mapping may have several pieces; `rest` counts its resident bytes not found yet.
    let (mut mapping_end, mut rest) = (0, 0);
    let all = mappings.iter().copied();
    pieces(all, extents, |record, range, segment, object| {
        if mapping_end != record.end {
            (mapping_end, rest) = (record.end, record.resident());
        }
        if rest == 0 || result.is_err() {
            return;
        }
        let sizes = folios.entry((segment, object)).or_default();
        match pages.add(frames, range, rest, record.kernel_page_size, sizes) {
            Ok(bytes) => rest = rest.saturating_sub(bytes),
            Err(why) => result = Err(why),
        }
    });
    result.map(|()| folios)
}

pub(super) fn of_row(folios: &Folios<'_>, row: &Row<'_>) -> Vec<Huge> {
    let sizes = folios.get(&(row.segment, row.object)).into_iter().flatten();
    let sizes = sizes.map(|(page_size, bytes)| Huge {
        page_size: *page_size,
        bytes: *bytes,
    });
    sizes.collect()
}

/// Formats a line for each segment and size.
pub(super) fn table(rows: &[Row<'_>]) -> String {
    let mut text = "segment   folios of  resident kB   share\n".to_owned();
    for segment in ALL {
        let mut sums = Sizes::new();
        let rows = rows.iter().filter(|row| row.segment == segment);
        for huge in rows.flat_map(|row| row.folios.unwrap_or_default()) {
            *sums.entry(huge.page_size).or_default() += huge.bytes;
        }
        let all: u64 = sums.values().sum();
        for (size, bytes) in sums {
            let (name, size) = (segment.name(), SizeName(size).to_string());
            let share = Tenths::of(bytes, all);
            let kib = bytes / 1024;
            let _ = writeln!(text, "{name:<8} {size:>10} {kib:>12}  {share:>5}%");
        }
    }
    text
}

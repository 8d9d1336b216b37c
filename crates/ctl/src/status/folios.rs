//! `--sizes`: the folio sizes of each segment.

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

/// The folios of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Folios {
    segments: Vec<SegmentFolios>,
    /// Why nothing is known.
    pub(super) warning: Option<String>,
}

/// Resident bytes of one object's segment by folio size.
#[derive(Debug, Clone)]
struct SegmentFolios {
    segment: Segment,
    object: Option<Vec<u8>>,
    sizes: Sizes,
}

/// Opens the page frames of the machine.
///
/// # Errors
/// They may not be read.
pub fn frames(root: &Root) -> Result<Frames, FileError> {
    let meminfo = Meminfo::read(root)?;
    let page = base_page(root, &meminfo)?;
    let largest = thp::pmd_size(root)?.or(meminfo.huge_page_size);
    Frames::open(root, page, largest.map_or(page, PageSize::get))
}

/// The size of a base page.
pub(crate) fn base_page(root: &Root, meminfo: &Meminfo) -> Result<u64, FileError> {
    let page = zone::base_page_size(root, meminfo.total, &[])?;
    Ok(page.map_or(4096, Bytes::get))
}

impl Folios {
    /// Reads the folios behind these mappings.
    pub(super) fn read(
        root: &Root,
        pid: Pid,
        frames: &mut Frames,
        mappings: &[Record<'_>],
        extents: &[Extent<'_>],
    ) -> Folios {
        let mut folios = Folios::default();
        match folios.fill(root, pid, frames, mappings, extents) {
            Ok(()) => folios,
            Err(why) => Folios::unknown(&format!("process {pid}: {why}")),
        }
    }

    /// Nothing could be read.
    pub(super) fn unknown(why: &str) -> Folios {
        Folios {
            segments: Vec::new(),
            warning: Some(format!("no sizes of folios: {why}; ask as root")),
        }
    }

    fn fill(
        &mut self,
        root: &Root,
        pid: Pid,
        frames: &mut Frames,
        mappings: &[Record<'_>],
        extents: &[Extent<'_>],
    ) -> Result<(), FileError> {
        let pages = Pages::open(root, pid)?;
        let mut result = Ok(());
        // A mapping may have several pieces: its end, and the resident bytes not found yet.
        let (mut mapping, mut rest) = (0, 0);
        let all = mappings.iter().copied();
        pieces(all, extents, |record, range, segment, object| {
            if mapping != record.end {
                (mapping, rest) = (record.end, record.resident());
            }
            if rest == 0 || result.is_err() {
                return;
            }
            let sizes = self.sizes(segment, object);
            match pages.add(frames, range, rest, record.kernel_page_size, sizes) {
                Ok(bytes) => rest = rest.saturating_sub(bytes),
                Err(why) => result = Err(why),
            }
        });
        result
    }

    fn sizes(&mut self, segment: Segment, object: Option<&[u8]>) -> &mut Sizes {
        let same = |of: &SegmentFolios| of.segment == segment && of.object.as_deref() == object;
        let at = self.segments.iter().position(same).unwrap_or_else(|| {
            self.segments.push(SegmentFolios {
                segment,
                object: object.map(<[u8]>::to_vec),
                sizes: Sizes::new(),
            });
            self.segments.len() - 1
        });
        &mut self.segments[at].sizes
    }

    /// The sizes in a row; `None` if nothing could be read.
    pub(super) fn of_row(&self, row: &Row<'_>) -> Option<Vec<Huge>> {
        let same =
            |of: &&SegmentFolios| of.segment == row.segment && of.object.as_deref() == row.object;
        let found = self.segments.iter().find(same);
        let sizes = found.into_iter().flat_map(|of| &of.sizes);
        let sizes = sizes.map(|(page_size, bytes)| Huge {
            page_size: *page_size,
            bytes: *bytes,
        });
        (!self.segments.is_empty()).then(|| sizes.collect())
    }

    /// A line for each segment and size.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        if self.segments.is_empty() {
            return text;
        }
        let _ = writeln!(text, "segment   folios of  resident kB   share");
        for segment in ALL {
            let mut sums = Sizes::new();
            let objects = self.segments.iter().filter(|of| of.segment == segment);
            for (size, bytes) in objects.flat_map(|of| &of.sizes) {
                *sums.entry(*size).or_default() += bytes;
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
}

//! `--sizes`: what sizes of folios really lie in each segment.

use std::fmt::Write;

use hugetools_contract::report::Tenths;
use hugetools_contract::segment::{ALL, Extent, Huge, Row, Segment, pieces};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::zone;
use hugetools_model::process::Pid;
use hugetools_model::process::folio::{Frames, Pages, Sizes};
use hugetools_model::size_name::SizeName;
use hugetools_model::{FileError, Root, thp};

use super::mappings::Mappings;

/// How much address space of a process is looked at: 2 GiB of the kernel's table, and
/// some seconds.
const MOST: u64 = 1 << 40;

/// What lies in the segments of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Folios {
    segments: Vec<Of>,
    /// What could not be looked at.
    pub(super) left: Option<String>,
}

/// What lies in one of them.
#[derive(Debug, Clone)]
struct Of {
    segment: Segment,
    object: Option<Vec<u8>>,
    sizes: Vec<Huge>,
}

/// The page frames of the machine.
///
/// # Errors
/// When they may not be read.
pub fn frames(root: &Root) -> Result<Frames, FileError> {
    let meminfo = Meminfo::read(root)?;
    let page = base_page(root, &meminfo)?;
    let largest = thp::pmd_size(root)?.or(meminfo.huge_page_size);
    Frames::open(
        root,
        page,
        largest.map_or(page, hugetools_model::PageSize::get),
    )
}

/// The size of a base page.
pub(crate) fn base_page(root: &Root, meminfo: &Meminfo) -> Result<u64, FileError> {
    let page = zone::base_page_size(root, meminfo.total, &[])?;
    Ok(page.map_or(4096, hugetools_model::Bytes::get))
}

impl Folios {
    /// Looks at a process whose mappings are these.
    pub(super) fn look(
        root: &Root,
        pid: Pid,
        frames: &mut Frames,
        mappings: &Mappings,
        extents: &[Extent<'_>],
    ) -> Folios {
        let mut folios = Folios::default();
        match folios.fill(root, pid, frames, mappings, extents) {
            Ok(()) => folios,
            Err(why) => Folios::unknown(&format!("process {pid}: {why}")),
        }
    }

    /// Nothing could be looked at.
    pub(super) fn unknown(why: &str) -> Folios {
        Folios {
            segments: Vec::new(),
            left: Some(format!("no sizes of folios: {why}; ask as root")),
        }
    }

    fn fill(
        &mut self,
        root: &Root,
        pid: Pid,
        frames: &mut Frames,
        mappings: &Mappings,
        extents: &[Extent<'_>],
    ) -> Result<(), FileError> {
        let pages = Pages::open(root, pid)?;
        let (mut looked, mut left) = (0u64, 0u64);
        // Of a mapping in several pieces: how much of it is still to be found.
        let (mut mapping, mut rest) = (0, 0);
        let mut result = Ok(());
        pieces(
            mappings.records(),
            extents,
            |record, range, segment, object| {
                if mapping != record.end {
                    left += rest;
                    (mapping, rest) = (record.end, record.resident());
                }
                let length = (range.end - range.start).min(MOST.saturating_sub(looked));
                if rest == 0 || length == 0 || result.is_err() {
                    return;
                }
                let range = range.start..range.start + length;
                let sizes = self.of(segment, object);
                let mut found = Sizes::new();
                match pages.add(frames, range, rest, record.kernel_page_size, &mut found) {
                    Ok(bytes) => rest = rest.saturating_sub(bytes),
                    Err(why) => result = Err(why),
                }
                looked += length;
                for (page_size, bytes) in found {
                    merge(sizes, Huge { page_size, bytes });
                }
            },
        );
        if looked >= MOST && left + rest > 0 {
            let kib = (left + rest) / 1024;
            self.left = Some(format!(
                "process {pid}: {kib} kB in more than 1 TB of addresses: their folios were not looked at"
            ));
        }
        result
    }

    fn of(&mut self, segment: Segment, object: Option<&[u8]>) -> &mut Vec<Huge> {
        let is_it = |of: &Of| of.segment == segment && of.object.as_deref() == object;
        let at = self.segments.iter().position(is_it).unwrap_or_else(|| {
            self.segments.push(Of {
                segment,
                object: object.map(<[u8]>::to_vec),
                sizes: Vec::new(),
            });
            self.segments.len() - 1
        });
        &mut self.segments[at].sizes
    }

    /// What lies in a row; `None` where nothing could be looked at.
    pub(super) fn of_row(&self, row: &Row<'_>) -> Option<&[Huge]> {
        let is_it = |of: &&Of| of.segment == row.segment && of.object.as_deref() == row.object;
        match self.segments.iter().find(is_it) {
            Some(of) => Some(&of.sizes),
            None if self.segments.is_empty() => None,
            None => Some(&[]),
        }
    }

    /// A line for each segment and size.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        if self.segments.is_empty() {
            return text;
        }
        let _ = writeln!(text, "segment   folios of  resident kB   share");
        for segment in ALL {
            let mut sum = Vec::new();
            for of in self.segments.iter().filter(|of| of.segment == segment) {
                of.sizes.iter().for_each(|more| merge(&mut sum, *more));
            }
            let all: u64 = sum.iter().map(|size| size.bytes).sum();
            for Huge { page_size, bytes } in sum {
                let (name, size) = (segment.name(), SizeName(page_size).to_string());
                let share = Tenths::of(bytes, all);
                let kib = bytes / 1024;
                let _ = writeln!(text, "{name:<8} {size:>10} {kib:>12}  {share:>5}%");
            }
        }
        text
    }
}

fn merge(sizes: &mut Vec<Huge>, more: Huge) {
    match sizes.binary_search_by_key(&more.page_size, |size| size.page_size) {
        Ok(at) => sizes[at].bytes += more.bytes,
        Err(at) => sizes.insert(at, more),
    }
}

//! Huge pages of the file in the page cache: shared by all processes, reclaimable, no copy.
//!
//! The file system must support them, and address and file offset must be equal modulo the huge
//! page. hugectl prepares the page cache; small pages stay unless the kernel can collapse them.
#![expect(unsafe_code, reason = "advises the program's own mappings")]

use core::ops::Range;

use super::load::Load;
use super::reason::Reason;
use crate::kernel::pagemap::{self, Page};
use crate::kernel::{facts, file_mapping, populate};
use crate::policy::thp::NoThp;
use crate::sys::{self, Errno};

/// Linux 6.1.
const MADV_COLLAPSE: i32 = 25;

/// Maps huge pages of the file over whole huge pages of a segment. If it fails, the contents are
/// unchanged.
pub fn take(load: &Load, range: &Range<usize>) -> Result<(), Reason> {
    let size = facts::thp_size();
    if load.file_start % size != 0 || range.is_empty() || range.end > load.file_pages_end() {
        return Err(Reason::Misaligned);
    }
    if !is_unchanged(range) {
        return Err(Reason::Changed);
    }
    // Advises all of the segment, so that it stays one VMA: libunwind finds names only if a VMA's
    // offset is a program header's.
    advise(&load.range, libc::MADV_HUGEPAGE)
        .or_else(|_| advise(range, libc::MADV_HUGEPAGE))
        .map_err(|_| Reason::Thp(NoThp::Absent))?;
    // Tries one page before all of a large program is read.
    let first = range.start..range.start + size;
    remap(&first, size);
    if huge_bytes(range) == 0 && advise(&first, MADV_COLLAPSE).is_err() {
        return Err(Reason::SmallPages);
    }
    remap(range, size);
    if huge_bytes(range) == range.len() || advise(range, MADV_COLLAPSE).is_ok() {
        return Ok(());
    }
    Err(Reason::SmallPages)
}

/// Whether all populated pages are the file's.
pub(super) fn is_unchanged(range: &Range<usize>) -> bool {
    let mut unchanged = true;
    let seen = pagemap::scan(range.clone(), |_, page| {
        unchanged &= !matches!(page, Page::Private | Page::Swapped)
    });
    seen.is_ok() && unchanged
}

/// Unmaps all pages and maps them again, as huge pages where the page cache has them.
fn remap(range: &Range<usize>, size: usize) {
    let _ = advise(range, libc::MADV_DONTNEED);
    populate::for_reading(range.start, range.len(), size);
}

fn huge_bytes(range: &Range<usize>) -> usize {
    let bytes = file_mapping::file_huge_bytes(range.start).unwrap_or(0);
    usize::try_from(bytes).unwrap_or(0).min(range.len())
}

fn advise(range: &Range<usize>, advice: i32) -> Result<(), Errno> {
    // SAFETY: unchanged pages of a file: dropped contents come back.
    unsafe { sys::madvise(range.start, range.len(), advice) }
}

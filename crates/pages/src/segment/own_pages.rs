//! The file's own pages: the page cache holds the file in huge pages, and they
//! are mapped as such. Shared by all processes, reclaimable, no copy.
//!
//! The file system must be able to hold huge pages in its page cache, and the
//! segment must lie in memory as it does in the file, modulo the huge page.
//! hugectl has prepared the page cache; a file that is in it in small pages
//! stays so here, unless the kernel can collapse them.
#![expect(unsafe_code, reason = "advises the program's own mappings")]

use core::ops::Range;

use super::load::Load;
use super::why::Why;
use crate::kernel::pagemap::{self, Page};
use crate::kernel::{facts, file_mapping, populate};
use crate::sys::{self, Errno};

/// Since Linux 6.1.
const MADV_COLLAPSE: i32 = 25;

/// Maps a part of a segment, whole transparent huge pages, by huge pages of
/// its file.
///
/// # Errors
/// Why it is not so; nothing has changed for the program then.
pub fn take(load: &Load, range: &Range<usize>) -> Result<(), Why> {
    let size = facts::thp_size();
    if load.file_start % size != 0 || range.is_empty() || range.end > load.file_end {
        return Err(Why::Elsewhere);
    }
    if !is_unchanged(range) {
        return Err(Why::Changed);
    }
    // All of the segment, which stays one VMA then: libunwind finds names only where the
    // offset of a VMA is that of a program header.
    advise(&load.range, libc::MADV_HUGEPAGE)
        .or_else(|_| advise(range, libc::MADV_HUGEPAGE))
        .map_err(|_| Why::ThpAbsent)?;
    // The first one tells of the others, so that a large program is not read
    // for nothing.
    let first = range.start..range.start + size;
    map_anew(&first, size);
    if huge_bytes(range) == 0 && advise(&first, MADV_COLLAPSE).is_err() {
        return Err(Why::SmallPages);
    }
    map_anew(range, size);
    if huge_bytes(range) == range.len() || advise(range, MADV_COLLAPSE).is_ok() {
        return Ok(());
    }
    Err(Why::SmallPages)
}

/// Whether all pages that are there are the file's own.
pub(super) fn is_unchanged(range: &Range<usize>) -> bool {
    let mut unchanged = true;
    let seen = pagemap::scan(range.clone(), |_, page| {
        unchanged &= !matches!(page, Page::Private | Page::Swapped)
    });
    seen.is_ok() && unchanged
}

/// Drops the mappings of single pages and touches each huge page.
fn map_anew(range: &Range<usize>, size: usize) {
    let _ = advise(range, libc::MADV_DONTNEED);
    populate::for_reading(range.start, range.len(), size);
}

fn huge_bytes(range: &Range<usize>) -> usize {
    let bytes = file_mapping::file_huge_bytes(range.start).unwrap_or(0);
    usize::try_from(bytes).unwrap_or(0).min(range.len())
}

fn advise(range: &Range<usize>, advice: i32) -> Result<(), Errno> {
    // SAFETY: pages of a file that nobody has changed: what is dropped comes
    // back with the same contents.
    unsafe { sys::madvise(range.start, range.len(), advice) }
}

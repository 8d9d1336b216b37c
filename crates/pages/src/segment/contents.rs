//! The parts of a segment that must be copied: the file's contents, and populated bss pages.
#![expect(unsafe_code, reason = "copies the program's variables")]

use core::ops::Range;

use super::load::Load;
use crate::kernel::pagemap::{self, Page};
use crate::sys;

/// Calls `visit` for each run of base pages with contents, in order of address. The first bss page
/// whose pagemap entry cannot be read, and all pages after it, count as contents.
pub fn runs(load: &Load, range: &Range<usize>, mut visit: impl FnMut(Range<usize>)) {
    let page = sys::page_size();
    let file_end = load.file_pages_end();
    let mut at = range.start;
    // The file's pages have contents even before they are populated.
    if file_end > at {
        at = file_end.min(range.end);
        visit(range.start..at);
    }
    if at == range.end {
        return;
    }
    let mut run: Option<Range<usize>> = None;
    let mut last = at;
    let scanned = pagemap::scan(at..range.end, |addr, state| {
        last = addr;
        match (state, run.take()) {
            (Page::Absent, None) => {}
            (Page::Absent, Some(run)) => visit(run),
            (_, None) => run = Some(addr..addr + page),
            (_, Some(before)) => run = Some(before.start..addr + page),
        }
    });
    if scanned.is_err() {
        run = Some(run.map_or(last, |run| run.start)..range.end);
    }
    if let Some(run) = run.filter(|run| !run.is_empty()) {
        visit(run);
    }
}

/// Whether a part of a segment has contents, as for [`runs`].
pub fn any(load: &Load, range: &Range<usize>) -> bool {
    let mut any = false;
    runs(load, range, |_| any = true);
    any
}

/// Copies the contents of a part of a segment to zeroed memory at `to`.
///
/// # Safety
/// The range must be readable, and as many bytes at `to` writable. The two must not overlap, and
/// nobody else may write to either.
pub unsafe fn copy(load: &Load, range: &Range<usize>, to: usize) {
    runs(load, range, |run| {
        let to = to + (run.start - range.start);
        // SAFETY: upheld by the caller.
        unsafe {
            core::ptr::copy_nonoverlapping(run.start as *const u8, to as *mut u8, run.len());
        }
    });
}

//! Finds the pages of a range that are in memory.
#![expect(unsafe_code, reason = "populates pages")]

use core::ffi::c_int;
use core::ops::Range;

use crate::sys;

/// Number of base pages to query at once.
const QUERY: usize = 512;

pub(super) fn has_page(range: &Range<usize>) -> bool {
    let mut any = false;
    resident(range, |_| any = true);
    any
}

/// Ends copy-on-write sharing with former children: only pages of one process can move.
pub(super) fn make_exclusive(range: &Range<usize>) {
    /// Linux 5.14.
    const MADV_POPULATE_WRITE: c_int = 23;
    resident(range, |run| {
        // SAFETY: it changes no contents.
        let _ = unsafe { sys::madvise(run.start, run.len(), MADV_POPULATE_WRITE) };
    });
}

/// Calls `visit` with each run of pages in memory.
fn resident(range: &Range<usize>, mut visit: impl FnMut(Range<usize>)) {
    let page = sys::page_size();
    for start in range.clone().step_by(QUERY * page) {
        let mut pages = [0_u8; QUERY];
        let len = (range.end - start).min(QUERY * page);
        if sys::mincore(start, len, &mut pages).is_err() {
            continue;
        }
        let pages = &pages[..len / page];
        let mut at = start;
        for run in pages.chunk_by(|a, b| a & 1 == b & 1) {
            let end = at + run.len() * page;
            if run[0] & 1 != 0 {
                visit(at..end);
            }
            at = end;
        }
    }
}

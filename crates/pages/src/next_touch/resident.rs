//! Finds the resident pages of a range by `mincore(2)`.
#![expect(unsafe_code, reason = "populates pages")]

use core::ffi::c_int;
use core::ops::Range;

use crate::sys;

/// Number of base pages per `mincore` call.
const BATCH: usize = 512;

/// Whether any page of a range is resident.
pub(super) fn has_resident_page(range: &Range<usize>) -> bool {
    let mut any = false;
    for_each_resident_run(range, |_| any = true);
    any
}

/// Breaks COW: `UFFDIO_MOVE` refuses pages that were shared with a forked child.
pub(super) fn break_cow(range: &Range<usize>) {
    /// Linux 5.14.
    const MADV_POPULATE_WRITE: c_int = 23;
    for_each_resident_run(range, |run| {
        // SAFETY: the call changes no contents.
        let _ = unsafe { sys::madvise(run.start, run.len(), MADV_POPULATE_WRITE) };
    });
}

/// Calls `visit` with each run of resident pages. Skips a batch that is not all mapped.
fn for_each_resident_run(range: &Range<usize>, mut visit: impl FnMut(Range<usize>)) {
    let page = sys::page_size();
    for start in range.clone().step_by(BATCH * page) {
        let mut pages = [0_u8; BATCH];
        let len = (range.end - start).min(BATCH * page);
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

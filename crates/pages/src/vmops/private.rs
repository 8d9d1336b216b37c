//! The program's calls on the heap and on segments, such as `mprotect` for guard pages. They fail on
//! part of a hugetlb page, so the range moves to ordinary memory first, except for hints and
//! advice about kernel features.
#![expect(unsafe_code, reason = "passes the program's advice on")]

use core::ffi::c_int;
use core::ops::Range;

use super::advice::Kind;
use super::range::overlap;
use super::shared::Access;
use crate::extent::{Extent, index};
use crate::migrate::off_pool::{self, Outcome};
use crate::sys::{self, Errno, Result};

/// Moves memory of ours in a range to ordinary memory before a call that changes it.
pub(super) fn before_change(range: &Range<usize>) {
    if index::overlaps(range) {
        off_pool::step_down(range.start, range.len());
    }
}

/// `mprotect`; `None` for memory that isn't ours.
pub(super) fn mprotect(range: &Range<usize>, access: Access) -> Option<Result<()>> {
    if !index::overlaps(range) {
        return None;
    }
    if off_pool::step_down(range.start, range.len()) == Outcome::NoMemory {
        return Some(Err(Errno(libc::ENOMEM)));
    }
    // SAFETY: the program's own call.
    Some(unsafe { access.apply(range) })
}

pub(super) fn madvise(range: &Range<usize>, advice: c_int) -> Result<()> {
    let kind = Kind::of(advice);
    if !matches!(kind, Kind::Hint | Kind::Kernel) {
        before_change(range);
    }
    // SAFETY: the program's own advice.
    match unsafe { sys::madvise(range.start, range.len(), advice) } {
        // The hint has no effect on hugetlb memory.
        Err(Errno(libc::EINVAL)) if kind == Kind::Hint && has_huge_pages(range) => Ok(()),
        result => result,
    }
}

/// Whether a range contains hugetlb pages.
pub(super) fn has_huge_pages(range: &Range<usize>) -> bool {
    let has = |extent: &Extent| {
        let part = overlap(range, &(extent.base..extent.base + extent.len));
        let is_huge = |at| extent.units()[extent.unit_at(at)].settled().0.is_hugetlb();
        let first = part.start - (part.start - extent.base) % extent.layout.unit;
        !part.is_empty() && (first..part.end).step_by(extent.layout.unit).any(is_huge)
    };
    index::extents().any(has)
}

//! What a program does to memory of its heap or its segments: guard pages by
//! `mprotect`, contents dropped by `madvise`, other memory in its place. Hugetlb
//! pages know none of that for a part of them, so the memory concerned becomes
//! ordinary memory first. For what is only a hint it stays.
#![expect(unsafe_code, reason = "passes the program's advice on")]

use core::ffi::c_int;
use core::ops::Range;

use super::advice::Kind;
use super::range::overlap;
use super::shared::Access;
use crate::extent::{Extent, index, mlocked};
use crate::migrate::off_pool::{self, Outcome};
use crate::sys::{self, Errno, Result};

/// Prepares memory for a call that changes its access, or unmaps it.
pub(super) fn before_change(range: &Range<usize>) {
    if index::meets(range) {
        off_pool::step_down(range.start, range.len());
        mlocked::restore(range);
    }
}

/// `mprotect`; `None` where none of it is ours.
pub(super) fn mprotect(range: &Range<usize>, access: Access) -> Option<Result<()>> {
    if !index::meets(range) {
        return None;
    }
    if off_pool::step_down(range.start, range.len()) == Outcome::NoMemory {
        return Some(Err(Errno(libc::ENOMEM)));
    }
    mlocked::restore(range);
    // SAFETY: the program's own access.
    Some(unsafe { access.give(range) })
}

/// `madvise`
pub(super) fn madvise(range: &Range<usize>, advice: c_int) -> Result<()> {
    let kind = Kind::of(advice);
    if !matches!(kind, Kind::Hint | Kind::Kernel) {
        before_change(range);
    }
    // SAFETY: the program's own advice.
    match unsafe { sys::madvise(range.start, range.len(), advice) } {
        // Of a part of a huge page.
        Err(Errno(libc::EINVAL)) if kind == Kind::Hint && has_huge_pages(range) => Ok(()),
        result => result,
    }
}

/// Whether pages of a pool stand in a range.
fn has_huge_pages(range: &Range<usize>) -> bool {
    let has = |extent: &Extent| {
        let part = overlap(range, &(extent.base..extent.base + extent.len));
        let is_huge = |at| extent.units()[extent.unit_at(at)].settled().0.is_hugetlb();
        part.step_by(extent.layout.unit).any(is_huge)
    };
    index::look(|| index::extents().any(has))
}

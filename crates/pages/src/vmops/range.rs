//! Ranges of addresses and pages.

use core::ops::Range;

use crate::sys::{self, Errno, Result};

/// The part of `a` in `b`; empty if they don't overlap.
pub(crate) fn overlap(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// `len` bytes from `addr`, rounded up to units; `None` on overflow.
pub(crate) fn range_of(addr: usize, len: usize, unit: usize) -> Option<Range<usize>> {
    let end = addr.checked_add(len)?.checked_next_multiple_of(unit)?;
    Some(addr..end)
}

/// Returns the pages of a call, or the kernel's error.
pub(crate) fn pages(addr: usize, len: usize) -> Result<Range<usize>> {
    let page = sys::page_size();
    match range_of(addr, len, page) {
        Some(range) if addr % page == 0 => Ok(range),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// The pages that contain a range.
pub(crate) fn touched(addr: usize, len: usize) -> Option<Range<usize>> {
    let start = addr / sys::page_size() * sys::page_size();
    range_of(start, len.checked_add(addr - start)?, sys::page_size())
}

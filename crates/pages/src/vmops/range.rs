//! Ranges of addresses, and of the pages that a call names or touches.

use core::ops::Range;

use crate::sys::{self, Errno, Result};

/// The part of `a` that lies in `b`; empty where they do not meet.
pub(crate) fn overlap(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// `len` bytes from `addr` on, up to whole units; `None` past the last
/// address.
pub(crate) fn range_of(addr: usize, len: usize, unit: usize) -> Option<Range<usize>> {
    let end = addr.checked_add(len)?.checked_next_multiple_of(unit)?;
    Some(addr..end)
}

/// The pages that a call names, or the kernel's own error for none such.
pub(crate) fn pages(addr: usize, len: usize) -> Result<Range<usize>> {
    let page = sys::page_size();
    match range_of(addr, len, page) {
        Some(range) if addr % page == 0 => Ok(range),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// The pages that a call touches, wherever in them it begins.
pub(crate) fn touched(addr: usize, len: usize) -> Option<Range<usize>> {
    let start = addr / sys::page_size() * sys::page_size();
    range_of(start, len.checked_add(addr - start)?, sys::page_size())
}

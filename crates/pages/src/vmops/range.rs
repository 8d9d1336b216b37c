//! Ranges of addresses.

use core::ops::Range;

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

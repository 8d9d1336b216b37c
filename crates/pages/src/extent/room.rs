//! Limits reservations under `ulimit -v`, since the program's own mappings need address space.

use crate::extent::slice_bitmap::SLICE;
use crate::extent::{Holds, index};
use crate::kernel::facts;
use crate::sys::{self, SpaceLimit};

/// Unused reservations may take at most 1/`PART` of the unused address space.
const PART: usize = 4;

/// Bytes that may be reserved ahead; `usize::MAX` if there is no limit or it is unknown.
pub fn reservation_limit() -> usize {
    match sys::address_space_limit() {
        SpaceLimit::Bytes(limit) => reservation_limit_under(limit),
        SpaceLimit::None | SpaceLimit::Unknown => usize::MAX,
    }
}

fn reservation_limit_under(limit: usize) -> usize {
    let (mut reserved, mut used) = (0, 0);
    for extent in index::extents().filter(|extent| extent.holds == Holds::Heap) {
        reserved += extent.len;
        used += extent.used_slices() * SLICE;
    }
    let taken = facts::address_space().unwrap_or(0).max(reserved);
    let (free, unused) = (limit.saturating_sub(taken), reserved.saturating_sub(used));
    (free.saturating_add(unused) / PART).saturating_sub(unused)
}

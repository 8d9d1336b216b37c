//! The owner of a block.

use core::ffi::c_void;

use hugetools_contract::segment::HEAP_AREA;

use crate::mimalloc;

/// The owner of a block.
pub(crate) enum Owner {
    /// mimalloc's.
    Allocator,
    /// Another malloc's.
    Foreign,
}

/// Whether a block lies outside of the heap's area and may be another malloc's. Nearly all of
/// mimalloc's lie inside.
#[inline(always)]
pub(crate) fn is_outside(block: *const c_void) -> bool {
    !HEAP_AREA.contains(&(block as u64))
}

/// The owner of a block outside of the heap's area.
#[cold]
pub(crate) fn of(block: *const c_void) -> Owner {
    match mimalloc::mi_is_in_heap_region(block) {
        true => Owner::Allocator,
        false => Owner::Foreign,
    }
}

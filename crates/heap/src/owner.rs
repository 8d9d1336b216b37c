//! The owner of a block.

use core::ffi::c_void;

use hugetools_contract::segment::HEAP_AREA;

use crate::mimalloc;

/// Whether a block lies outside of the heap's area and may be another malloc's. Nearly all blocks
/// of mimalloc lie inside.
#[inline(always)]
pub(crate) fn is_outside(block: *const c_void) -> bool {
    !HEAP_AREA.contains(&(block as u64))
}

/// Whether a block is another malloc's: neither null nor mimalloc's.
#[inline]
pub(crate) fn is_foreign(block: *const c_void) -> bool {
    !block.is_null() && is_outside(block) && !mimalloc::mi_is_in_heap_region(block)
}

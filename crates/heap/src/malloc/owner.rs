//! Whose a block is.

use core::ffi::c_void;

use hugetools_contract::segment::HEAP_AREA;

use crate::mimalloc;

/// Whose a block is.
pub(crate) enum Owner {
    /// mimalloc's.
    Allocator,
    /// Another malloc's.
    Foreign,
}

/// Whether a block may be another malloc's. Nearly all of mimalloc's lie in one area, which
/// two comparisons tell.
#[inline(always)]
pub(crate) fn is_elsewhere(block: *const c_void) -> bool {
    !HEAP_AREA.contains(&(block as u64))
}

/// Whose a block outside of that area is.
#[cold]
pub(crate) fn of(block: *const c_void) -> Owner {
    match mimalloc::mi_is_in_heap_region(block) {
        true => Owner::Allocator,
        false => Owner::Foreign,
    }
}

//! Whose a block is.

use core::ffi::c_void;

use hugetools_contract::segment::ARENA_AREA;
use hugetools_pages::extent::Extent;

use crate::large_blocks::growing;
use crate::mimalloc;

/// Whose a block is.
pub(crate) enum Owner {
    /// mimalloc's.
    Allocator,
    /// A large one with an extent of its own, to grow in.
    Growing(&'static Extent),
    /// Another malloc's.
    Foreign,
}

/// Whether a block may be none of mimalloc's. Nearly all of those lie in one
/// area, which two comparisons tell.
#[inline(always)]
pub(crate) fn is_elsewhere(block: *const c_void) -> bool {
    !ARENA_AREA.contains(&(block as u64))
}

/// Whose a block is.
#[cold]
pub(crate) fn of(block: *const c_void) -> Owner {
    match growing::extent_of(block) {
        Some(extent) => Owner::Growing(extent),
        None if mimalloc::mi_is_in_heap_region(block) => Owner::Allocator,
        None => Owner::Foreign,
    }
}

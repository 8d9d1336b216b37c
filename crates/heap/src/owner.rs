//! Whose a block is.

use core::ffi::c_void;

use hugetools_contract::segment::ARENA_AREA;
use hugetools_pages::window::Window;

use crate::{growing, mimalloc};

/// Whose a block is.
pub(crate) enum Owner {
    /// mimalloc's.
    Allocator,
    /// A large one with a window of its own, to grow in.
    Growing(&'static Window),
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
    match growing::window_of(block) {
        Some(window) => Owner::Growing(window),
        None if mimalloc::mi_is_in_heap_region(block) => Owner::Allocator,
        None => Owner::Foreign,
    }
}

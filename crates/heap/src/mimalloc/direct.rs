//! mimalloc's blocks with libc's manners.
#![expect(unsafe_code, reason = "takes blocks by address, as realloc does")]

use core::ffi::c_void;

use hugetools_pages::rt::weak;
use hugetools_pages::sys::{Errno, set_errno};

use crate::mimalloc::{mi_free, mi_realloc};

const NO_MEMORY: Errno = Errno(libc::ENOMEM);

/// A block, or null with `errno` set.
pub(crate) fn checked(block: *mut c_void) -> *mut c_void {
    if block.is_null() {
        set_errno(NO_MEMORY);
    }
    block
}

/// Changes the size of a block of mimalloc's, or takes a new one; null where it has none,
/// without a word.
///
/// # Safety
/// `block` must be null, or one of mimalloc's that is not used any more.
pub(crate) unsafe fn realloc_here(block: *mut c_void, size: usize) -> *mut c_void {
    if size == 0 && !block.is_null() && weak::is_glibc() {
        // glibc frees the block; musl and mimalloc give an empty one.
        // SAFETY: as the caller says.
        unsafe { mi_free(block) };
        return core::ptr::null_mut();
    }
    // SAFETY: as the caller says.
    unsafe { mi_realloc(block, at_least(size)) }
}

/// What `max_align_t` needs: every block is aligned to that.
pub(crate) const LEAST_ALIGNMENT: usize = 16;

/// The size to ask for: mimalloc aligns smaller blocks to less.
#[inline(always)]
pub(crate) fn at_least(size: usize) -> usize {
    size.max(LEAST_ALIGNMENT)
}

//! Blocks that mimalloc does not have: while a control group has no memory to spare they
//! are libc's; where it may take nothing but arenas, and a block may be too large for
//! these, it has an extent of its own.
#![expect(unsafe_code, reason = "takes blocks by address, as realloc does")]

use core::ffi::c_void;

use hugetools_pages::extent::slice_bitmap::SLICE;
use hugetools_pages::policy::growth;
use hugetools_pages::rt::weak;
use hugetools_pages::sys;

use crate::arena;
use crate::host_malloc::relief;
use crate::large_blocks::{aligned, growing};
use crate::malloc::or_else;
use crate::mimalloc::direct::{self, at_least, checked};
use crate::mimalloc::{mi_free, mi_malloc, mi_usable_size, mi_zalloc};

#[cold]
pub(crate) fn malloc(size: usize) -> *mut c_void {
    let block = instead(|| relief::malloc(size), || mi_malloc(at_least(size)));
    or_extent(block, size)
}

#[cold]
pub(crate) fn zeros(size: usize) -> *mut c_void {
    let block = instead(|| relief::zeros(size), || mi_zalloc(at_least(size)));
    // A new extent is zero, too.
    or_extent(block, size)
}

/// Of an alignment that is a power of two. Where there is no block, `errno` is the caller's
/// to set.
#[cold]
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void {
    let block = instead(
        || relief::memalign(alignment, size),
        || aligned::create(alignment, size),
    );
    match block.is_null() && alignment <= SLICE && arena::is_strict() {
        true => growing::create(size).unwrap_or(block),
        false => block,
    }
}

/// Changes the size of a block of mimalloc's, or takes a new one.
///
/// # Safety
/// As for [`direct::realloc_here`].
#[inline(always)]
pub(crate) unsafe fn realloc_here(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as the caller says.
    let new = unsafe { direct::realloc_here(block, size) };
    // SAFETY: as the caller says.
    or_else(new, || unsafe { realloc(block, size) })
}

/// # Safety
/// `block` must be null, or one of mimalloc's that is not used any more.
#[cold]
unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if size == 0 && !block.is_null() && weak::is_glibc() {
        // It is freed.
        return core::ptr::null_mut();
    }
    let new = match growth::is_limited() {
        true => malloc(size),
        false => checked(core::ptr::null_mut()),
    };
    if new.is_null() || block.is_null() {
        return new;
    }
    // SAFETY: as the caller says.
    let old = unsafe { mi_usable_size(block) };
    // SAFETY: two blocks of so many bytes at least, which do not overlap.
    unsafe { core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), old.min(size)) };
    // SAFETY: as the caller says.
    unsafe { mi_free(block) };
    new
}

/// A block of libc's where a control group may be why mimalloc has none; where libc has
/// none either, mimalloc's all the same: rather too much memory than none.
fn instead(
    theirs: impl FnOnce() -> *mut c_void,
    ours: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    if !growth::is_limited() {
        return core::ptr::null_mut();
    }
    let before = sys::errno();
    let mut block = theirs();
    if block.is_null() {
        block = growth::regardless(ours);
    }
    if !block.is_null() {
        sys::set_errno(before);
    }
    block
}

/// The block, or an extent of its own.
fn or_extent(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() && arena::is_strict() {
        return checked(growing::create(size).unwrap_or(block));
    }
    checked(block)
}

//! `realloc` of large blocks and of such as are not mimalloc's.
#![expect(unsafe_code, reason = "takes blocks by address, as realloc does")]

use core::ffi::c_void;

use hugetools_pages::extent::Extent;
use hugetools_pages::heap::drained::drain;
use hugetools_pages::rt::weak;

use crate::host_malloc::foreign;
use crate::large_blocks::growing;
use crate::malloc::owner::{self, Owner};
use crate::malloc::{elsewhere, or_else};
use crate::mimalloc::{mi_free, mi_malloc, mi_usable_size};

/// # Safety
/// `block` must be null or a block that is not used any more.
#[cold]
pub(crate) unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return or_else(mi_malloc(size), || elsewhere::malloc(size));
    }
    match owner::of(block) {
        Owner::Foreign => foreign::realloc(block, size),
        // SAFETY: as the caller says.
        Owner::Allocator => unsafe { let_grow(block, size) },
        // SAFETY: as the caller says.
        Owner::Growing(extent) => unsafe { resize(extent, block, size) },
    }
}

/// Gives a block that grows an extent of its own.
///
/// # Safety
/// As for [`realloc`]; the block must be mimalloc's.
unsafe fn let_grow(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as the caller says.
    let old = unsafe { mi_usable_size(block) };
    let new = match size > old {
        true => growing::create(size),
        false => None,
    };
    let Some(new) = new else {
        // SAFETY: as the caller says.
        return unsafe { elsewhere::realloc_here(block, size) };
    };
    // SAFETY: `new` is larger, and just made; the other one is not used any more.
    unsafe { move_over(block, new, old) };
    // SAFETY: as the caller says.
    unsafe { mi_free(block) };
    new
}

/// Copies a block, and gives its memory back behind that: so not all of a large one is
/// there twice.
///
/// # Safety
/// As for [`copy`]; nobody may need what the first one holds afterwards.
unsafe fn move_over(from: *mut c_void, to: *mut c_void, len: usize) {
    const PIECE: usize = 32 << 20;
    for done in (0..len).step_by(PIECE) {
        let part = PIECE.min(len - done);
        let rest = from.wrapping_byte_add(done);
        // SAFETY: as the caller says.
        unsafe { copy(rest, to.wrapping_byte_add(done), part) };
        if len > PIECE {
            let start = rest as usize;
            drain(&(start..start + part));
        }
    }
}

/// Changes the size in place where it can be, else by a copy.
///
/// # Safety
/// As for [`realloc`]; the block must be the extent's.
unsafe fn resize(extent: &'static Extent, block: *mut c_void, size: usize) -> *mut c_void {
    if size == 0 && weak::is_glibc() {
        growing::free(extent);
        return core::ptr::null_mut();
    }
    if growing::resize(extent, size) {
        return block;
    }
    let old = growing::len(extent);
    let mut new = mi_malloc(size);
    if new.is_null() && size <= old {
        // A smaller one can stay where it is.
        return block;
    }
    new = or_else(new, || elsewhere::malloc(size));
    if new.is_null() {
        return new;
    }
    // SAFETY: both are blocks of at least so many bytes.
    unsafe { copy(block, new, size.min(old)) };
    growing::free(extent);
    new
}

/// # Safety
/// Both must be blocks of at least `len` bytes.
unsafe fn copy(from: *const c_void, to: *mut c_void, len: usize) {
    // SAFETY: as the caller says; two blocks do not overlap.
    unsafe { core::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), len) };
}

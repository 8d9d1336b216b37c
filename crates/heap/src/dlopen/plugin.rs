//! Replacements for libraries that bind to libc's malloc family directly; see `rebind`. Foreign
//! blocks go straight to libc: an interposer between us and libc might call us back.
#![expect(unsafe_code, reason = "takes blocks by address, as malloc does")]

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::rt::weak::function;

use crate::malloc as ours;
use crate::owner::is_foreign;

/// Addresses of libc's functions that take blocks; 0 if missing.
pub(crate) struct Libc {
    pub(crate) free: AtomicUsize,
    pub(crate) realloc: AtomicUsize,
    pub(crate) usable_size: AtomicUsize,
}

pub(crate) static LIBC: Libc = Libc {
    free: AtomicUsize::new(0),
    realloc: AtomicUsize::new(0),
    usable_size: AtomicUsize::new(0),
};

/// # Safety
/// `block` must be null, ours, or libc's.
pub(crate) unsafe extern "C" fn free(block: *mut c_void) {
    type Free = unsafe extern "C" fn(*mut c_void);
    if !is_foreign(block) {
        // SAFETY: upheld by the caller.
        return unsafe { ours::free(block) };
    }
    // SAFETY: the address of the function of that name.
    if let Some(free) = unsafe { function::<Free>(LIBC.free.load(Ordering::Acquire)) } {
        // SAFETY: upheld by the caller.
        unsafe { free(block) };
    }
}

/// `realloc(3)`; libc resizes its own blocks.
///
/// # Safety
/// As for [`free`].
pub(crate) unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    if !is_foreign(block) {
        // SAFETY: upheld by the caller.
        return unsafe { ours::realloc(block, size) };
    }
    // SAFETY: the address of the function of that name.
    let realloc = unsafe { function::<Realloc>(LIBC.realloc.load(Ordering::Acquire)) };
    // SAFETY: upheld by the caller.
    realloc.map_or(core::ptr::null_mut(), |realloc| unsafe {
        realloc(block, size)
    })
}

/// # Safety
/// As for [`free`].
pub(crate) unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    // An overflowing product is refused like any excessive size.
    // SAFETY: upheld by the caller.
    unsafe { realloc(block, count.saturating_mul(size)) }
}

/// # Safety
/// As for [`free`].
pub(crate) unsafe extern "C" fn usable_size(block: *mut c_void) -> usize {
    type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;
    if !is_foreign(block) {
        // SAFETY: upheld by the caller.
        return unsafe { ours::malloc_usable_size(block) };
    }
    // SAFETY: the address of the function of that name.
    let usable_size = unsafe { function::<UsableSize>(LIBC.usable_size.load(Ordering::Acquire)) };
    // SAFETY: upheld by the caller.
    usable_size.map_or(0, |usable_size| unsafe { usable_size(block) })
}

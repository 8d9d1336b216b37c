//! What libraries call that have malloc from libc itself: by `dlopen` with
//! `RTLD_DEEPBIND`, which puts a library's own needs before everybody else's.
//! See `rebind.rs` for how they come here.
//!
//! Blocks that are not ours go straight to libc, not to whatever stands between
//! us and it: that might come back here.
#![expect(unsafe_code, reason = "takes blocks by address, as malloc does")]

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::malloc as ours;
use crate::malloc::owner::{self, Owner};

/// The functions of a libc that take blocks, as numbers; 0 where it has none.
pub(crate) struct Libc {
    pub(crate) free: AtomicUsize,
    pub(crate) realloc: AtomicUsize,
    pub(crate) usable_size: AtomicUsize,
}

impl Libc {
    const fn new() -> Libc {
        Libc {
            free: AtomicUsize::new(0),
            realloc: AtomicUsize::new(0),
            usable_size: AtomicUsize::new(0),
        }
    }
}

/// The program's libc, and those of namespaces that it made by `dlmopen`.
pub(crate) static LIBCS: [Libc; SPACES] = [const { Libc::new() }; SPACES];

/// So many namespaces there are at most.
pub(crate) const SPACES: usize = 16;

/// Whether a block is neither null nor ours.
fn is_foreign(block: *const c_void) -> bool {
    !block.is_null() && owner::is_elsewhere(block) && matches!(owner::of(block), Owner::Foreign)
}

/// `free(3)` in a namespace.
///
/// # Safety
/// `block` must be null, ours, or of that namespace's libc; so for all of these.
pub(crate) unsafe extern "C" fn free<const SPACE: usize>(block: *mut c_void) {
    type Free = unsafe extern "C" fn(*mut c_void);
    if !is_foreign(block) {
        // SAFETY: as the caller says.
        return unsafe { ours::free(block) };
    }
    match LIBCS[SPACE].free.load(Ordering::Acquire) {
        0 => {}
        free => {
            // SAFETY: the address of the function of that name.
            let free = unsafe { core::mem::transmute::<usize, Free>(free) };
            // SAFETY: as the caller says.
            unsafe { free(block) };
        }
    }
}

/// `realloc(3)` in the program's own namespace: a new block is ours.
pub(crate) unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    match block.is_null() {
        // SAFETY: there is no block.
        true => unsafe { ours::realloc(block, size) },
        // SAFETY: as the caller says.
        false => unsafe { realloc_kept::<0>(block, size) },
    }
}

/// `realloc(3)` in a namespace: a new block is of its libc.
pub(crate) unsafe extern "C" fn realloc_kept<const SPACE: usize>(
    block: *mut c_void,
    size: usize,
) -> *mut c_void {
    type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    if !block.is_null() && !is_foreign(block) {
        // SAFETY: as the caller says.
        return unsafe { ours::realloc(block, size) };
    }
    match LIBCS[SPACE].realloc.load(Ordering::Acquire) {
        0 => core::ptr::null_mut(),
        realloc => {
            // SAFETY: the address of the function of that name.
            let realloc = unsafe { core::mem::transmute::<usize, Realloc>(realloc) };
            // SAFETY: as the caller says.
            unsafe { realloc(block, size) }
        }
    }
}

/// `reallocarray(3)` in the program's own namespace.
pub(crate) unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    // A product that is too large is refused like any size that is.
    // SAFETY: as the caller says.
    unsafe { realloc(block, count.saturating_mul(size)) }
}

/// `reallocarray(3)` in a namespace.
pub(crate) unsafe extern "C" fn reallocarray_kept<const SPACE: usize>(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe { realloc_kept::<SPACE>(block, count.saturating_mul(size)) }
}

/// `malloc_usable_size(3)` in a namespace.
pub(crate) unsafe extern "C" fn usable_size<const SPACE: usize>(block: *mut c_void) -> usize {
    type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;
    if !is_foreign(block) {
        // SAFETY: as the caller says.
        return unsafe { ours::malloc_usable_size(block) };
    }
    match LIBCS[SPACE].usable_size.load(Ordering::Acquire) {
        0 => 0,
        usable_size => {
            // SAFETY: the address of the function of that name.
            let usable_size = unsafe { core::mem::transmute::<usize, UsableSize>(usable_size) };
            // SAFETY: as the caller says.
            unsafe { usable_size(block) }
        }
    }
}

//! Foreign blocks in a program that uses our malloc: libc's early ones, or those of a library with
//! its own malloc. They go to the next definitions.
#![expect(unsafe_code, reason = "looks functions up and calls them")]

use core::ffi::c_void;

use crate::host_malloc;
use crate::host_malloc::next::next;

/// Frees a block; leaks it if there is no `free`.
#[cold]
pub(crate) fn free(block: *mut c_void) {
    type Free = extern "C" fn(*mut c_void);
    if let Some(free) = host_malloc::free() {
        return free(block);
    }
    let free = next(c"free");
    if free != 0 {
        // SAFETY: the address of the function of that name.
        let free = unsafe { core::mem::transmute::<usize, Free>(free) };
        free(block);
    }
}

/// Reallocates a block.
#[cold]
pub(crate) fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    type Realloc = extern "C" fn(*mut c_void, usize) -> *mut c_void;
    match next(c"realloc") {
        0 => core::ptr::null_mut(),
        realloc => {
            // SAFETY: the address of the function of that name.
            let realloc = unsafe { core::mem::transmute::<usize, Realloc>(realloc) };
            realloc(block, size)
        }
    }
}

/// The usable size of a block.
#[cold]
pub(crate) fn usable_size(block: *const c_void) -> usize {
    type UsableSize = extern "C" fn(*const c_void) -> usize;
    if let Some(usable_size) = host_malloc::usable_size() {
        return usable_size(block);
    }
    match next(c"malloc_usable_size") {
        0 => 0,
        usable_size => {
            // SAFETY: the address of the function of that name.
            let usable_size = unsafe { core::mem::transmute::<usize, UsableSize>(usable_size) };
            usable_size(block)
        }
    }
}

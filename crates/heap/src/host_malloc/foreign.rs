//! Blocks of another malloc. They return to it if the program keeps it. Otherwise they are libc's
//! early blocks or a library's own, and go to the next definition of the function.
#![expect(unsafe_code, reason = "looks functions up and calls them")]

use core::ffi::c_void;

use hugetools_pages::rt::weak::function;

use crate::host_malloc;
use crate::host_malloc::next::next;

/// Frees a block; leaks it if there is no `free`.
#[cold]
pub(crate) fn free(block: *mut c_void) {
    type Free = extern "C" fn(*mut c_void);
    if let Some(free) = host_malloc::free() {
        return free(block);
    }
    // SAFETY: the address of the function of that name.
    if let Some(free) = unsafe { function::<Free>(next(c"free")) } {
        free(block);
    }
}

#[cold]
pub(crate) fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    type Realloc = extern "C" fn(*mut c_void, usize) -> *mut c_void;
    // SAFETY: the address of the function of that name.
    let realloc = unsafe { function::<Realloc>(next(c"realloc")) };
    realloc.map_or(core::ptr::null_mut(), |realloc| realloc(block, size))
}

#[cold]
pub(crate) fn usable_size(block: *const c_void) -> usize {
    type UsableSize = extern "C" fn(*const c_void) -> usize;
    if let Some(usable_size) = host_malloc::usable_size() {
        return usable_size(block);
    }
    // SAFETY: the address of the function of that name.
    let usable_size = unsafe { function::<UsableSize>(next(c"malloc_usable_size")) };
    usable_size.map_or(0, |usable_size| usable_size(block))
}

//! glibc's internal names of the malloc family: programs that call these pass them our blocks.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_void};

use crate::malloc as ours;

#[unsafe(no_mangle)]
extern "C" fn __libc_malloc(size: usize) -> *mut c_void {
    ours::malloc(size)
}

#[unsafe(no_mangle)]
extern "C" fn __libc_calloc(count: usize, size: usize) -> *mut c_void {
    ours::calloc(count, size)
}

/// # Safety
/// `block` must be null or come from the malloc family.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { ours::realloc(block, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_free(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { ours::free(block) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_cfree(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { ours::free(block) }
}

#[unsafe(no_mangle)]
extern "C" fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void {
    ours::memalign(alignment, size)
}

#[unsafe(no_mangle)]
extern "C" fn __libc_valloc(size: usize) -> *mut c_void {
    ours::valloc(size)
}

#[unsafe(no_mangle)]
extern "C" fn __libc_pvalloc(size: usize) -> *mut c_void {
    ours::pvalloc(size)
}

/// # Safety
/// `place` must be writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn __posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { ours::posix_memalign(place, alignment, size) }
}

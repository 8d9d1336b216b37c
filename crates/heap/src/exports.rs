//! The malloc family by libc's names; see `malloc`. `names`: glibc's internal names;
//! `operators`: C++.
//!
//! **Invariants.** Every function that returns or takes a block is here.
//!
//! **Locks.** None.
//!
//! **At a fork.** As for `crate::malloc`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_void};

use crate::malloc as ours;

mod names;
mod operators;

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    ours::malloc(size)
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    ours::calloc(count, size)
}

/// # Safety
/// `block` must be null or come from one of these functions.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { ours::free(block) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { ours::realloc(block, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { ours::reallocarray(block, count, size) }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    ours::memalign(alignment, size)
}

#[unsafe(no_mangle)]
extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    ours::memalign(alignment, size)
}

/// # Safety
/// `place` must be writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { ours::posix_memalign(place, alignment, size) }
}

#[unsafe(no_mangle)]
extern "C" fn valloc(size: usize) -> *mut c_void {
    ours::valloc(size)
}

#[unsafe(no_mangle)]
extern "C" fn pvalloc(size: usize) -> *mut c_void {
    ours::pvalloc(size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: the caller's promise.
    unsafe { ours::malloc_usable_size(block) }
}

/// `free_sized` (C23)
#[unsafe(no_mangle)]
unsafe extern "C" fn free_sized(block: *mut c_void, _size: usize) {
    // SAFETY: the caller's promise.
    unsafe { ours::free(block) }
}

/// `free_aligned_sized` (C23)
#[unsafe(no_mangle)]
unsafe extern "C" fn free_aligned_sized(block: *mut c_void, _alignment: usize, _size: usize) {
    // SAFETY: the caller's promise.
    unsafe { ours::free(block) }
}

/// `cfree(3)`, for programs built before glibc 2.26.
#[unsafe(no_mangle)]
unsafe extern "C" fn cfree(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { ours::free(block) }
}

#[unsafe(no_mangle)]
extern "C" fn malloc_trim(_pad: usize) -> c_int {
    ours::malloc_trim()
}

#[unsafe(no_mangle)]
extern "C" fn mallopt(parameter: c_int, _value: c_int) -> c_int {
    ours::mallopt(parameter)
}

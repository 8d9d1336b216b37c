//! The public functions. A second copy of the library forwards to the first one (see `marker`).
#![expect(unsafe_code, reason = "exports functions that take addresses")]

use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};

use super::{calls, color, files, mounts, next_touch, regions, sizes};
use crate::rt::marker;

/// Calls ours, or the first copy's.
macro_rules! first {
    ($ours:expr, $theirs:expr) => {
        match marker::is_first() {
            true => $ours,
            // SAFETY: upheld by the caller.
            false => unsafe { $theirs },
        }
    };
}

#[unsafe(no_mangle)]
extern "C" fn gethugepagesize() -> c_long {
    first!(sizes::default_size(), calls::gethugepagesize())
}

/// # Safety
/// `sizes` must have room for `room` values, or be null.
#[unsafe(no_mangle)]
unsafe extern "C" fn gethugepagesizes(sizes: *mut c_long, room: c_int) -> c_int {
    first!(
        // SAFETY: upheld by the caller.
        unsafe { sizes::huge_sizes(sizes, room) },
        calls::gethugepagesizes(sizes, room)
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpagesizes(sizes: *mut c_long, room: c_int) -> c_int {
    first!(
        // SAFETY: upheld by the caller.
        unsafe { sizes::all_sizes(sizes, room) },
        calls::getpagesizes(sizes, room)
    )
}

/// Forgets the kernel's default size, for tests that simulate another machine.
#[unsafe(no_mangle)]
extern "C" fn __tp_kernel_default_hugepage_size_reset() {
    first!(sizes::forget(), calls::reset());
}

/// # Safety
/// `path` must be a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn hugetlbfs_test_path(path: *const c_char) -> c_int {
    first!(
        // SAFETY: upheld by the caller.
        unsafe { mounts::test_path(path) },
        calls::test_path(path)
    )
}

#[unsafe(no_mangle)]
extern "C" fn hugetlbfs_find_path() -> *const c_char {
    first!(mounts::find_path(), calls::find_path())
}

#[unsafe(no_mangle)]
extern "C" fn hugetlbfs_find_path_for_size(size: c_long) -> *const c_char {
    first!(
        mounts::find_path_for_size(size),
        calls::find_path_for_size(size)
    )
}

#[unsafe(no_mangle)]
extern "C" fn hugetlbfs_unlinked_fd() -> c_int {
    first!(files::unlinked(), calls::unlinked_fd())
}

#[unsafe(no_mangle)]
extern "C" fn hugetlbfs_unlinked_fd_for_size(size: c_long) -> c_int {
    first!(
        files::unlinked_for_size(size),
        calls::unlinked_fd_for_size(size)
    )
}

#[unsafe(no_mangle)]
extern "C" fn get_huge_pages(len: usize, flags: c_ulong) -> *mut c_void {
    first!(
        regions::get_huge_pages(len, flags),
        calls::get_huge_pages(len, flags)
    )
}

/// # Safety
/// `start` must come from [`get_huge_pages`] and be used no more.
#[unsafe(no_mangle)]
unsafe extern "C" fn free_huge_pages(start: *mut c_void) {
    first!(
        regions::free_huge_pages(start),
        calls::free_huge_pages(start)
    );
}

#[unsafe(no_mangle)]
extern "C" fn get_hugepage_region(len: usize, flags: c_ulong) -> *mut c_void {
    first!(
        regions::get_region(len, flags),
        calls::get_hugepage_region(len, flags)
    )
}

/// # Safety
/// `start` must come from [`get_hugepage_region`] and be used no more.
#[unsafe(no_mangle)]
unsafe extern "C" fn free_hugepage_region(start: *mut c_void) {
    first!(
        regions::free_region(start),
        calls::free_hugepage_region(start)
    );
}

#[unsafe(no_mangle)]
unsafe extern "C" fn huge_next_touch(addr: *mut c_void, len: usize) -> c_int {
    first!(
        next_touch::huge_next_touch(addr as usize, len),
        calls::huge_next_touch(addr, len)
    )
}

/// Undocumented, but libhugetlbfs exports it: returns an address within `room` bytes of `start`.
///
/// # Safety
/// `start` must be the start of a block of at least `room` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cachecolor(start: *mut c_void, len: usize, room: usize) -> *mut c_void {
    first!(
        color::shift(start, room),
        calls::cachecolor(start, len, room)
    )
}

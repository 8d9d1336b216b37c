//! Calls the public functions by the addresses that the loader found, so that a program's own
//! definitions are used. A direct call would reach ours.
#![expect(unsafe_code, reason = "calls functions by address")]

use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};

use hugetools_pages::{weak_function, word};

macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty, $word:ident;)*) => {$(
        word!($word);

        $(#[$meta])*
        pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            let Some(function) = weak_function!($word as Function) else {
                // This library defines the function, so the loader finds an address.
                unreachable!()
            };
            // SAFETY: upheld by the caller.
            unsafe { function($($argument),*) }
        }
    )*};
}

functions! {
    /// # Safety
    /// The requirements of the public function, as for all functions of this table.
    gethugepagesize() -> c_long,
        hugetools_gethugepagesize;
    gethugepagesizes(sizes: *mut c_long, room: c_int) -> c_int,
        hugetools_gethugepagesizes;
    getpagesizes(sizes: *mut c_long, room: c_int) -> c_int,
        hugetools_getpagesizes;
    reset() -> (),
        hugetools_reset;
    test_path(path: *const c_char) -> c_int,
        hugetools_test_path;
    find_path() -> *const c_char,
        hugetools_find_path;
    find_path_for_size(size: c_long) -> *const c_char,
        hugetools_find_path_for_size;
    unlinked_fd() -> c_int,
        hugetools_unlinked_fd;
    unlinked_fd_for_size(size: c_long) -> c_int,
        hugetools_unlinked_fd_for_size;
    get_huge_pages(len: usize, flags: c_ulong) -> *mut c_void,
        hugetools_get_huge_pages;
    free_huge_pages(start: *mut c_void) -> (),
        hugetools_free_huge_pages;
    get_hugepage_region(len: usize, flags: c_ulong) -> *mut c_void,
        hugetools_get_hugepage_region;
    free_hugepage_region(start: *mut c_void) -> (),
        hugetools_free_hugepage_region;
    huge_next_touch(addr: *mut c_void, len: usize) -> c_int,
        hugetools_next_touch;
    cachecolor(start: *mut c_void, len: usize, room: usize) -> *mut c_void,
        hugetools_cachecolor;
}

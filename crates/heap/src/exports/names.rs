//! glibc's internal names of the malloc family: programs that call these pass them our blocks. If
//! the program keeps its malloc, they are glibc's: that malloc may call them.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_void};

use hugetlbfs::next::dlsym_next;
use hugetools_pages::rt::weak::function;

use crate::host_malloc::{Heap, heap};
use crate::malloc as ours;

/// Defines functions that call ours, or the next definition if the program keeps its malloc.
macro_rules! internal_names {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $result:ty => $ours:expr;)*) => {$(
        /// # Safety
        /// As for the function without prefix.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $kind),*) -> $result {
            type Function = unsafe extern "C" fn($($kind),*) -> $result;
            if heap() == Heap::Theirs {
                let name = const { cstr(concat!(stringify!($name), "\0")) };
                // SAFETY: the address of the function of that name.
                if let Some(function) = unsafe { function::<Function>(dlsym_next(name)) } {
                    // SAFETY: upheld by the caller.
                    return unsafe { function($($arg),*) };
                }
            }
            $ours
        }
    )*};
}

/// Returns the string, which must end with a NUL.
const fn cstr(text: &str) -> &core::ffi::CStr {
    match core::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("no NUL at the end"),
    }
}

internal_names! {
    __libc_malloc(size: usize) -> *mut c_void => ours::malloc(size);
    __libc_calloc(count: usize, size: usize) -> *mut c_void => ours::calloc(count, size);
    __libc_memalign(alignment: usize, size: usize) -> *mut c_void
        => ours::memalign(alignment, size);
    __libc_valloc(size: usize) -> *mut c_void => ours::valloc(size);
    __libc_pvalloc(size: usize) -> *mut c_void => ours::pvalloc(size);
    __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void => {
        // SAFETY: upheld by the caller.
        unsafe { ours::realloc(block, size) }
    };
    __libc_free(block: *mut c_void) -> () => {
        // SAFETY: upheld by the caller.
        unsafe { ours::free(block) }
    };
    __libc_cfree(block: *mut c_void) -> () => {
        // SAFETY: upheld by the caller.
        unsafe { ours::free(block) }
    };
    __posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int => {
        // SAFETY: upheld by the caller.
        unsafe { ours::posix_memalign(place, alignment, size) }
    };
}

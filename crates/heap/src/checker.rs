//! A checker's malloc: that of AddressSanitizer, `ThreadSanitizer` or
//! `LeakSanitizer`, which must know of every block. A program that was built
//! with one keeps it: all that is asked of us goes there.
//!
//! Each of these libraries has its functions under a second name, by which the
//! loader finds them whatever stands before. So nothing need be looked up while
//! the checker starts, which is when it calls for the first time.
use core::ffi::c_void;

use hugetools_pages::{weak_function, weak_word};

weak_word!(hugetools_checker_malloc = "__interceptor_malloc");
weak_word!(hugetools_checker_calloc = "__interceptor_calloc");
weak_word!(hugetools_checker_realloc = "__interceptor_realloc");
weak_word!(hugetools_checker_memalign = "__interceptor_memalign");
weak_word!(hugetools_checker_free = "__interceptor_free");
weak_word!(hugetools_checker_usable_size = "__interceptor_malloc_usable_size");

type Malloc = extern "C" fn(usize) -> *mut c_void;
type Pair = extern "C" fn(usize, usize) -> *mut c_void;
type Realloc = extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Free = extern "C" fn(*mut c_void);
type UsableSize = extern "C" fn(*const c_void) -> usize;

/// Whether there is one in this process.
#[cold]
pub(crate) fn is_there() -> bool {
    weak_function!(hugetools_checker_malloc as Malloc).is_some()
}

#[cold]
pub(crate) fn malloc(size: usize) -> *mut c_void {
    let malloc = weak_function!(hugetools_checker_malloc as Malloc);
    malloc.map_or(core::ptr::null_mut(), |malloc| malloc(size))
}

#[cold]
pub(crate) fn calloc(count: usize, size: usize) -> *mut c_void {
    let calloc = weak_function!(hugetools_checker_calloc as Pair);
    calloc.map_or(core::ptr::null_mut(), |calloc| calloc(count, size))
}

#[cold]
pub(crate) fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    let realloc = weak_function!(hugetools_checker_realloc as Realloc);
    realloc.map_or(core::ptr::null_mut(), |realloc| realloc(block, size))
}

#[cold]
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void {
    let memalign = weak_function!(hugetools_checker_memalign as Pair);
    memalign.map_or(core::ptr::null_mut(), |memalign| memalign(alignment, size))
}

/// How a block is freed; `None` where there is no checker.
#[cold]
pub(crate) fn free() -> Option<Free> {
    weak_function!(hugetools_checker_free as Free)
}

/// How the usable size of a block is found; `None` where there is no checker.
#[cold]
pub(crate) fn usable_size() -> Option<UsableSize> {
    weak_function!(hugetools_checker_usable_size as UsableSize)
}

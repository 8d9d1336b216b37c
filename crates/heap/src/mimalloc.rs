//! mimalloc's C interface.
#![expect(unsafe_code, reason = "declares functions of C")]

use core::ffi::{c_int, c_void};

use hugetools_pages::sys::{Errno, set_errno};

// Links mimalloc.
use libmimalloc_sys as _;

/// Commits (`true`) or decommits a range of an arena.
pub(crate) type CommitFun = unsafe extern "C" fn(
    commit: bool,
    start: *mut c_void,
    size: usize,
    is_zero: *mut bool,
    argument: *mut c_void,
) -> bool;

type ErrorFun = unsafe extern "C" fn(error: c_int, argument: *mut c_void);

/// Makes mimalloc set `errno` to `ENOMEM`, as libc's malloc does, if it has no memory or the size
/// is too large.
pub(crate) fn set_errno_at_errors() {
    // SAFETY: a function of this library, which stays.
    unsafe { mi_register_error(set_errno_at, core::ptr::null_mut()) };
}

unsafe extern "C" fn set_errno_at(error: c_int, _: *mut c_void) {
    // Other errors are the program's mistakes, such as EAGAIN for a double free.
    if error == libc::ENOMEM || error == libc::EOVERFLOW {
        set_errno(Errno(libc::ENOMEM));
    }
}

unsafe extern "C" {
    pub(crate) safe fn mi_process_init();

    /// See `options.c`.
    pub(crate) safe fn hugetools_set_options(strict: bool, at_once: bool);

    fn mi_register_error(function: ErrorFun, argument: *mut c_void);

    pub(crate) fn mi_manage_memory(
        start: *mut c_void,
        size: usize,
        is_committed: bool,
        is_pinned: bool,
        is_zero: bool,
        numa_node: c_int,
        exclusive: bool,
        commit: CommitFun,
        argument: *mut c_void,
        arena: *mut *mut c_void,
    ) -> bool;

    /// Gives back free memory of this thread and of the arenas.
    pub(crate) safe fn mi_collect(force: bool);

    pub(crate) safe fn mi_malloc(size: usize) -> *mut c_void;
    /// The size must not exceed `MI_SMALL_SIZE_MAX`.
    pub(crate) fn mi_malloc_small(size: usize) -> *mut c_void;
    pub(crate) safe fn mi_calloc(count: usize, size: usize) -> *mut c_void;
    pub(crate) fn mi_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    pub(crate) fn mi_free(block: *mut c_void);
    pub(crate) fn mi_usable_size(block: *const c_void) -> usize;
    pub(crate) safe fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut c_void;

    /// Whether an address lies in mimalloc's memory.
    pub(crate) safe fn mi_is_in_heap_region(address: *const c_void) -> bool;
}

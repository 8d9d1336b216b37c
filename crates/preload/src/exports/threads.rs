//! Threads, and processes that begin with a function.
#![expect(unsafe_code, reason = "functions of libc that are replaced")]

use core::ffi::{c_int, c_void};

use hugetools_pages::fork;

use crate::next::call::{NO_CALL, next};
use crate::process::clones;
use crate::process::threads::{self, Start};

/// `pthread_create(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { threads::create(thread, attributes, start, argument) }
}

/// `thrd_create(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    start: *const c_void,
    argument: *mut c_void,
) -> c_int {
    threads::one_is_near();
    next!(
        c"thrd_create",
        fn(*mut libc::pthread_t, *const c_void, *mut c_void) -> c_int,
        NO_CALL,
        (thread, start, argument)
    )
}

/// `clone(2)`, with as many arguments as it may have.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    start: Option<fork::Start>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    own: *mut c_void,
    child: *mut c_void,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { clones::clone(start, stack, flags, argument, [parent, own, child]) }
}

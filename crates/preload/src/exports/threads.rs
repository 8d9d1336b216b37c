//! Threads.
#![expect(unsafe_code, reason = "functions of libc that are replaced")]

use core::ffi::{c_int, c_void};

use crate::next::later::{THRD_CREATE, call_later, no_function};
use crate::process::threads::{self, Start};

/// `pthread_create(3)`
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { threads::create(thread, attributes, start, argument) }
}

/// `thrd_create(3)`
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    start: *const c_void,
    argument: *mut c_void,
) -> c_int {
    threads::before_create();
    call_later!(
        THRD_CREATE,
        fn(*mut libc::pthread_t, *const c_void, *mut c_void) -> c_int,
        (thread, start, argument),
        else no_function()
    )
}

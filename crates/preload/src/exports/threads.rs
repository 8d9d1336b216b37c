//! Threads, and processes that begin with a function.
#![expect(unsafe_code, reason = "functions of libc that are replaced")]

use core::ffi::{c_int, c_void};

use hugetools_pages::fork;
use hugetools_pages::sys::cast;

use crate::next::call::{NO_CALL, next, next_of_another};
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

/// `clone(2)`, with as many arguments as it may have. A library of the program's may have
/// a function of that name, which gets them whole.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    start: Option<fork::Start>,
    stack: *mut c_void,
    flags: usize,
    argument: *mut c_void,
    parent: *mut c_void,
    own: *mut c_void,
    child: *mut c_void,
) -> isize {
    let begin = start.map_or(0, |start| start as usize);
    let [at, passed, first, second, third] =
        [stack, argument, parent, own, child].map(|word| word as usize);
    let other = next_of_another!(
        clones::CLONE,
        (begin, at, flags, passed, first, second, third)
    );
    if let Some(result) = other {
        return result;
    }
    let flags = cast::int(flags);
    // SAFETY: as the caller says.
    let result = unsafe { clones::clone(start, stack, flags, argument, [parent, own, child]) };
    result as isize
}

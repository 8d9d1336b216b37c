//! The one way into the kernel, and errors as the kernel and as C have them.
#![expect(unsafe_code, reason = "makes system calls and reaches errno")]

use core::ffi::{c_int, c_long};

use libc::c_void;

use crate::bits::word;

/// An errno value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub c_int);

/// What a system call gives.
pub type Result<T> = core::result::Result<T, Errno>;

/// Runs a system call and keeps `errno`.
pub(super) fn call(number: c_long, args: [usize; 6]) -> Result<usize> {
    let [a, b, c, d, e, f] = args;
    let errno = errno_at();
    // SAFETY: this thread's errno, which lives as long as the thread.
    let before = unsafe { errno.read() };
    // SAFETY: each wrapper below passes what its system call takes; the caller
    // of a wrapper vouches for the memory that it names.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 {
        // SAFETY: as above.
        let error = unsafe { errno.replace(before) };
        return Err(Errno(error));
    }
    Ok(word(result))
}

/// Where this thread's `errno` is.
fn errno_at() -> *mut c_int {
    // SAFETY: takes nothing.
    unsafe { libc::__errno_location() }
}

/// A number that tells this thread from others: where its `errno` is.
pub fn thread_name() -> usize {
    errno_at() as usize
}

/// This thread's `errno`, after a call of libc's that failed.
pub fn errno() -> Errno {
    // SAFETY: this thread's errno.
    Errno(unsafe { errno_at().read() })
}

/// Sets `errno`, for calls that fail as the program's own.
pub fn set_errno(error: Errno) {
    // SAFETY: this thread's errno.
    unsafe { errno_at().write(error.0) };
}

/// The result of an interposed call, as C has it: `errno` set, and −1.
pub fn c_result(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// The address of an interposed `mmap`, as C has it.
pub fn c_address(result: Result<usize>) -> *mut c_void {
    match result {
        Ok(addr) => addr as *mut c_void,
        Err(error) => {
            set_errno(error);
            libc::MAP_FAILED
        }
    }
}

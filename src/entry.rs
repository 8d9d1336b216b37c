//! The start of a tool, without Rust's runtime.
//!
//! Before `main`, the Rust runtime ignores SIGPIPE, opens `/dev/null` for closed standard
//! descriptors, and reads the process's memory map. A started program would inherit the
//! first two, output to a closed descriptor would vanish, and every start would take
//! longer. [`entry!`](crate::entry!) makes a `main` without the runtime.
#![expect(unsafe_code, reason = "the C library hands over the arguments")]

pub mod closed;

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

/// Defines the C `main` of a `#![no_main]` binary. It calls a function that takes the
/// arguments and returns the exit status.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        // SAFETY: no other symbol of the binary is called main.
        #[unsafe(no_mangle)]
        extern "C" fn main(
            count: ::std::ffi::c_int,
            arguments: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            // SAFETY: the C library passes these to main.
            let arguments = unsafe { $crate::entry::arguments(count, arguments) };
            $crate::entry::closed::hold();
            ::std::ffi::c_int::from($main(arguments))
        }
    };
}

/// Returns the arguments of a C `main`.
///
/// # Safety
/// `arguments` must point to `count` NUL-terminated strings.
pub unsafe fn arguments(count: c_int, arguments: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller guarantees `count` pointers.
    let arguments = unsafe { std::slice::from_raw_parts(arguments, count) };
    let owned = |argument: &*const c_char| {
        // SAFETY: the caller guarantees that each points to a string.
        let argument = unsafe { CStr::from_ptr(*argument) };
        OsStr::from_bytes(argument.to_bytes()).to_owned()
    };
    arguments.iter().map(owned).collect()
}

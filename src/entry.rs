//! The start of a tool.
//!
//! Before an ordinary `main` the Rust runtime ignores SIGPIPE, opens `/dev/null` where a
//! standard descriptor is closed, and reads the process's own memory map: changes that a
//! program which the tool starts would inherit, answers that go nowhere without a word,
//! and time that every start would cost. [`entry!`](crate::entry!) makes a `main` without
//! them.
#![expect(unsafe_code, reason = "the C library hands over the arguments")]

pub mod closed;

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

/// Makes the C `main` of a binary that is `#![no_main]`, from a function that
/// takes the arguments and returns the exit status.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        // SAFETY: no other symbol of the binary is called main.
        #[unsafe(no_mangle)]
        extern "C" fn main(
            count: ::std::ffi::c_int,
            arguments: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            // SAFETY: these are what the C library gives to main.
            let arguments = unsafe { $crate::entry::arguments(count, arguments) };
            $crate::entry::closed::hold();
            ::std::ffi::c_int::from($main(arguments))
        }
    };
}

/// The arguments of a C `main`.
///
/// # Safety
/// `arguments` must point to `count` strings that end in zero.
pub unsafe fn arguments(count: c_int, arguments: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: there are `count` pointers, by the caller's word.
    let arguments = unsafe { std::slice::from_raw_parts(arguments, count) };
    let owned = |argument: &*const c_char| {
        // SAFETY: each points to a string, by the caller's word.
        let argument = unsafe { CStr::from_ptr(*argument) };
        OsStr::from_bytes(argument.to_bytes()).to_owned()
    };
    arguments.iter().map(owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_copied_in_their_order() {
        let strings = [c"tool", c"", c"\xff x"];
        let pointers = strings.map(CStr::as_ptr);
        // SAFETY: three pointers to strings that live on.
        let copied = unsafe { arguments(3, pointers.as_ptr()) };
        assert_eq!(copied.len(), 3);
        assert_eq!(copied[2].as_bytes(), b"\xff x");
    }
}

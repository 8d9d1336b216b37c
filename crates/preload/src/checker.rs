//! Programs that were built with AddressSanitizer or one of its like. It brings
//! a malloc that must stay, and wants its library to be the first of all; that
//! only so that its functions are the ones that the program calls, as they are:
//! ours hand on what is not about memory of ours.
#![expect(unsafe_code, reason = "exports a function that the checker looks for")]

use core::ffi::{CStr, c_char, c_void};

use hugetools_pages::config::Config;
use hugetools_pages::say::{Level, say};
use hugetools_pages::{weak_function, weak_word};

weak_word!(hugetools_checker = "__interceptor_malloc");

/// What AddressSanitizer takes as its settings, before those of `ASAN_OPTIONS`:
/// not to end the program because ours was loaded before its own library. A
/// program's own function of that name comes before this one.
#[unsafe(no_mangle)]
pub extern "C" fn __asan_default_options() -> *const c_char {
    const OPTIONS: &CStr = c"verify_asan_link_order=0";
    OPTIONS.as_ptr()
}

/// Says that the heap stays with the checker. hugectl does not load malloc into
/// a program of which it can know that: this is about what it starts in turn.
pub(crate) fn say_so(config: &Config) {
    type Malloc = extern "C" fn(usize) -> *mut c_void;
    let is_there = weak_function!(hugetools_checker as Malloc).is_some();
    if is_there && config.heap.is_some() {
        say(
            Level::Warning,
            format_args!(
                "the heap stays as it is: the program has its own allocator (a sanitizer's)"
            ),
        );
    }
}

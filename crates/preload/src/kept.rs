//! Programs whose malloc must stay. One that was built with AddressSanitizer or
//! its like brings a malloc that must know of every block; one that calls its
//! allocator by another name, too, would mix that one's blocks with ours.
//! hugectl does not load malloc into a program of which it can know that: this
//! is about what the program starts in turn.
#![expect(unsafe_code, reason = "exports a function that a sanitizer looks for")]

use core::ffi::{CStr, c_char};
use core::fmt;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering;

use hugetools_pages::config::Config;
use hugetools_pages::say::{Level, say};
use hugetools_pages::{weak, weak_word};

use crate::loaded;

weak_word!(hugetools_kept_checker = "__interceptor_malloc");
weak_word!(hugetools_kept_mallocx = "mallocx");
weak_word!(hugetools_kept_sdallocx = "sdallocx");
weak_word!(hugetools_kept_tc_malloc = "tc_malloc");

/// Why a program's malloc stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// It is a sanitizer's.
    Sanitizer,
    /// The program, or one of its libraries, calls the allocator by this name.
    Caller(&'static CStr),
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whom::Sanitizer => f.write_str("that of a sanitizer"),
            Whom::Caller(name) => {
                write!(f, "it calls {}", name.to_str().unwrap_or("it"))
            }
        }
    }
}

/// Who keeps the malloc of this process, if somebody does.
pub fn by_whom() -> Option<Whom> {
    // SAFETY: words of this library, written by the loader before any of its
    // code runs.
    let (checker, doors) = unsafe {
        let doors = [
            (&hugetools_kept_mallocx, c"mallocx"),
            (&hugetools_kept_sdallocx, c"sdallocx"),
            (&hugetools_kept_tc_malloc, c"tc_malloc"),
        ];
        (&hugetools_kept_checker, doors)
    };
    if checker.load(Ordering::Relaxed) != 0 {
        return Some(Whom::Sanitizer);
    }
    let mut there = doors
        .into_iter()
        .filter(|(word, _)| word.load(Ordering::Relaxed) != 0);
    // musl's list of what is loaded is locked while it loads.
    there
        .find(|(_, name)| weak::is_glibc() && is_called(name))
        .map(|(_, name)| Whom::Caller(name))
}

/// Whether one of the loaded files calls a function of that name.
fn is_called(name: &CStr) -> bool {
    let mut found = false;
    loaded::each(|object| {
        found = !object.is_vdso() && !object.is_ours() && object.refers_to(name);
        match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    found
}

/// What AddressSanitizer takes as its settings, before those of `ASAN_OPTIONS`:
/// not to end the program because ours was loaded before its own library. It
/// wants to be the first so that its functions are the ones that the program
/// calls; ours hand on what is not about memory of ours. A program's own
/// function of that name comes before this one.
#[unsafe(no_mangle)]
pub extern "C" fn __asan_default_options() -> *const c_char {
    const OPTIONS: &CStr = c"verify_asan_link_order=0";
    OPTIONS.as_ptr()
}

/// Says that the heap stays as it is.
pub(crate) fn say_so(config: &Config) {
    if config.heap.is_none() {
        return;
    }
    if let Some(whom) = by_whom() {
        say(
            Level::Warning,
            format_args!("the heap stays as it is: the program has its own allocator ({whom})"),
        );
    }
}

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

use hugetools_contract::allocators::{ALLOCATORS, Allocator};
use hugetools_contract::ledger::Kind;
use hugetools_pages::config::{self, Config};
use hugetools_pages::rt::message::say;
use hugetools_pages::rt::weak;
use hugetools_pages::word;

use crate::loader::{lock, objects};

word!(hugetools_kept_checker);

// The marks of `ALLOCATORS`, in its order.
word!(hugetools_kept_jemalloc);
word!(hugetools_kept_je_jemalloc);
word!(hugetools_kept_tcmalloc);
word!(hugetools_kept_mimalloc);
word!(hugetools_kept_rpmalloc);
word!(hugetools_kept_tbb);
word!(hugetools_kept_hoard);
word!(hugetools_kept_snmalloc);

/// For each of `ALLOCATORS`, where its mark is; 0 where it is not there.
fn marks() -> [usize; ALLOCATORS.len()] {
    // SAFETY: words of this library, written by the loader before any of its
    // code runs.
    let words = unsafe {
        [
            &hugetools_kept_jemalloc,
            &hugetools_kept_je_jemalloc,
            &hugetools_kept_tcmalloc,
            &hugetools_kept_mimalloc,
            &hugetools_kept_rpmalloc,
            &hugetools_kept_tbb,
            &hugetools_kept_hoard,
            &hugetools_kept_snmalloc,
        ]
    };
    words.map(|word| word.load(Ordering::Relaxed))
}

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

/// Whether a sanitizer is at work in this process.
pub(crate) fn has_checker() -> bool {
    // SAFETY: a word of this library, written by the loader before any of its
    // code runs.
    let checker = unsafe { hugetools_kept_checker.load(Ordering::Relaxed) };
    checker != 0
}

/// Who keeps the malloc of this process, if somebody does.
pub fn by_whom() -> Option<Whom> {
    if has_checker() {
        return Some(Whom::Sanitizer);
    }
    let marks = marks();
    // musl's list of what is loaded is locked while it loads.
    if marks == [0; ALLOCATORS.len()] || !weak::is_glibc() {
        return None;
    }
    let mut there = ALLOCATORS.iter().zip(marks).filter(|(_, mark)| *mark != 0);
    there
        .find_map(|(allocator, mark)| called(allocator, of_another(allocator, mark)?))
        .map(Whom::Caller)
}

/// Whether the program itself has malloc, or calls an allocator that must stay; no where
/// that cannot be told.
pub(crate) fn is_of_program() -> bool {
    if !lock::is_free() {
        return has_checker();
    }
    let mut is_in_program = false;
    objects::each(|object| {
        is_in_program = object.is_program && object.address_of(c"malloc").is_some();
        ControlFlow::Break(())
    });
    is_in_program || by_whom().is_some()
}

/// Where a library besides this one has the mark of an allocator: the word for it
/// leads to this library's own where there is one, whether or not others have it, too.
fn of_another(allocator: &Allocator, mark: usize) -> Option<usize> {
    let (mut is_own, mut other) = (false, None);
    objects::each(|object| {
        if object.is_ours() {
            is_own = object.contains(mark);
        } else if other.is_none() && !object.is_vdso() {
            other = object.address_of(allocator.mark);
        }
        ControlFlow::Continue(())
    });
    match is_own {
        true => other,
        false => Some(mark),
    }
}

/// The door of an allocator that one of the loaded files calls, where the
/// library that has its mark has malloc, too.
fn called(allocator: &Allocator, mark: usize) -> Option<&'static CStr> {
    let mut has_malloc = false;
    let mut found = None;
    objects::each(|object| {
        if object.contains(mark) {
            has_malloc = object.address_of(c"malloc").is_some();
        } else if found.is_none() && !object.is_vdso() && !object.is_ours() {
            found = object.calls(|name| allocator.has(name.to_bytes()));
        }
        ControlFlow::Continue(())
    });
    found.filter(|_| has_malloc)
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
            config::level_once(Kind::Allocator),
            format_args!("the heap stays as it is: the program has its own allocator ({whom})"),
        );
    }
}

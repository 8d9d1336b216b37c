//! Programs that must keep their malloc: a sanitizer must know every block, and blocks of an
//! allocator that is also called by other names would mix with ours. hugectl detects this for the
//! program it starts, this module for every process.
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

use crate::loader::lock;
use crate::loader::objects::{self, Object};

word!(hugetools_checker);

/// The reason for which a program keeps its malloc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It belongs to a sanitizer.
    Sanitizer,
    /// The program or one of its libraries calls this function of the allocator.
    Caller(&'static CStr),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Sanitizer => f.write_str("that of a sanitizer"),
            Reason::Caller(name) => {
                write!(f, "it calls {}", name.to_str().unwrap_or("it"))
            }
        }
    }
}

/// Whether the process runs under a sanitizer.
pub(crate) fn has_checker() -> bool {
    // SAFETY: a word of this library that the loader wrote before any code ran.
    let checker = unsafe { hugetools_checker.load(Ordering::Relaxed) };
    checker != 0
}

/// Returns why this process keeps its malloc, if it does.
pub fn reason() -> Option<Reason> {
    if has_checker() {
        return Some(Reason::Sanitizer);
    }
    // musl may call malloc while it holds the lock of its list: no look at the list then.
    if !weak::is_glibc() {
        return None;
    }
    called_function(loaded_allocator()?).map(Reason::Caller)
}

/// Whether the program's file defines malloc, or the program keeps its malloc; false if unknown.
pub(crate) fn is_of_program() -> bool {
    if !lock::is_surely_free() {
        return has_checker();
    }
    let mut is_in_program = false;
    objects::each(|object| {
        is_in_program = object.is_program && object.address_of(c"malloc").is_some();
        ControlFlow::Break(())
    });
    is_in_program || reason().is_some()
}

/// Whether an object may define or call another allocator.
fn is_other(object: &Object<'_>) -> bool {
    !object.is_ours() && !object.is_vdso()
}

/// Returns the first loaded allocator that also defines malloc.
fn loaded_allocator() -> Option<&'static Allocator> {
    let mut found = None;
    objects::each(|object| {
        if is_other(object) && object.address_of(c"malloc").is_some() {
            let mut all = ALLOCATORS.iter();
            found = all.find(|allocator| object.address_of(allocator.mark).is_some());
        }
        match found {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    });
    found
}

/// Returns the function of an allocator that another loaded file calls.
fn called_function(allocator: &Allocator) -> Option<&'static CStr> {
    let mut found = None;
    objects::each(|object| {
        if found.is_none() && is_other(object) && object.address_of(allocator.mark).is_none() {
            found = object.find_undefined(|name| allocator.has(name.to_bytes()));
        }
        ControlFlow::Continue(())
    });
    found
}

/// AddressSanitizer's default options: accept this library before the sanitizer's, since our
/// functions call its functions. A definition in the program overrides this one.
#[unsafe(no_mangle)]
pub extern "C" fn __asan_default_options() -> *const c_char {
    const OPTIONS: &CStr = c"verify_asan_link_order=0";
    OPTIONS.as_ptr()
}

/// Reports that the program keeps its malloc.
pub(crate) fn report(config: &Config) {
    if config.heap.is_none() {
        return;
    }
    if let Some(reason) = reason() {
        say(
            config::level_once(Kind::Allocator),
            format_args!("the heap stays as it is: the program has its own allocator ({reason})"),
        );
    }
}

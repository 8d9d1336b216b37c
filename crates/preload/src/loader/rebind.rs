//! Redefines glibc's symbols in this process: later loads bind to the new addresses.
//!
//! A library opened with `RTLD_DEEPBIND` finds libc's functions before ours, and its constructors
//! run before `dlopen` returns. So libc's symbol table is changed before the call.
#![expect(unsafe_code, reason = "changes a table of a loaded file")]

use core::ffi::{CStr, c_int};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use hugetools_pages::sys;

use crate::loader::objects::{self, Object};
use crate::loader::symbols::{LOCAL_ENTRY, Symbol};

/// A name and its new address.
type Meaning = (&'static CStr, usize);

/// Redefines glibc's functions of these names as ours, which must be exported. `is_done` makes this
/// happen once. Returns false if glibc's table can't be written.
pub fn to_ours<const N: usize>(names: [&'static CStr; N], is_done: &AtomicBool) -> bool {
    if is_done.load(Ordering::Acquire) {
        return true;
    }
    let mut all = names.map(|name| (name, 0));
    objects::each(|object| {
        if !object.is_ours() {
            return ControlFlow::Continue(());
        }
        for (name, address) in &mut all {
            *address = object.address_of(name).unwrap_or(0);
        }
        ControlFlow::Break(())
    });
    let mut is_changed = true;
    objects::each(|object| match object.own_name() {
        Some(name) if name == c"libc.so.6" && object.address_of(c"malloc").is_some() => {
            is_changed = change(object, &all);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    is_done.store(is_changed, Ordering::Release);
    is_changed
}

/// Redefines symbols of an object, except those with address 0. Returns false if its table can't
/// be written or has none of the names.
fn change(object: &Object<'_>, meanings: &[Meaning]) -> bool {
    let (mut first, mut last) = (usize::MAX, 0);
    for (name, _) in meanings {
        object.definitions(name, |symbol| {
            first = first.min(symbol as usize);
            last = last.max(symbol as usize + size_of::<Symbol>());
        });
    }
    let Some(before) = object.protection_of(first) else {
        return false;
    };
    let page = sys::page_size();
    let start = first / page * page;
    let len = last.next_multiple_of(page) - start;
    let protect = |prot: c_int| {
        // SAFETY: the table stays readable, and code around it executable.
        unsafe { sys::mprotect(start, len, prot) }
    };
    if protect(before | libc::PROT_WRITE).is_err() {
        return false;
    }
    for (name, meaning) in meanings.iter().filter(|(_, meaning)| *meaning != 0) {
        object.definitions(name, |symbol| {
            put(symbol, meaning.wrapping_sub(object.base))
        });
    }
    let _ = protect(before);
    true
}

/// Writes a symbol's value, which other threads may be reading. On powerpc64 our function has no
/// local entry point at the old symbol's offset.
fn put(symbol: *mut Symbol, value: usize) {
    // SAFETY: one of the object's symbols.
    let other = unsafe { &raw mut (*symbol).st_other };
    // SAFETY: a byte of the object's table, which `change` made writable.
    let byte = unsafe { AtomicU8::from_ptr(other) };
    byte.fetch_and(!LOCAL_ENTRY, Ordering::Release);
    // SAFETY: one of the object's symbols.
    let place = unsafe { &raw mut (*symbol).st_value };
    // SAFETY: an aligned word of the object's table, which `change` made writable.
    let word = unsafe { AtomicU64::from_ptr(place) };
    word.store(value as u64, Ordering::Release);
}

//! Has libc's own names for the malloc family mean ours, for whoever looks into
//! libc before he looks at the program's list of libraries.
//!
//! A library that is loaded with `RTLD_DEEPBIND` finds malloc and free in libc
//! while the program has ours, and blocks go from one to the other. Its calls
//! cannot be caught later: its constructors run before `dlopen` returns. So
//! before the first such library is loaded, libc's table of symbols, in this
//! process only, is made to say our addresses; the loader then binds to them.
//! Whatever else the library asks for, it gets as it asked.
//!
//! Other programs look into libc by `dlsym` and a handle of it, or of whatever
//! needs it. To these libc's malloc is left, but what takes blocks is ours from
//! the first `dlopen` on.
#![expect(unsafe_code, reason = "changes a table of a loaded file")]

use core::ffi::{CStr, c_int};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use hugetlbfs::loader::objects::{self, Object};
use hugetlbfs::loader::symbols::{LOCAL_ENTRY, Symbol};
use hugetools_pages::sys;

use crate::dlopen::plugin::{self, LIBCS, Libc};
use crate::host_malloc;

/// What is to be found by a name.
pub(crate) type Meaning = (&'static CStr, usize);

/// A function's address.
macro_rules! at {
    ($function:expr) => {
        $function as *const () as usize
    };
}

/// The functions that take blocks, in the program's own namespace.
fn takers() -> [Meaning; 9] {
    [
        (c"free", at!(plugin::free::<0>)),
        (c"cfree", at!(plugin::free::<0>)),
        (c"__libc_free", at!(plugin::free::<0>)),
        (c"free_sized", at!(plugin::free::<0>)),
        (c"free_aligned_sized", at!(plugin::free::<0>)),
        (c"realloc", at!(plugin::realloc)),
        (c"reallocarray", at!(plugin::reallocarray)),
        (c"__libc_realloc", at!(plugin::realloc_kept::<0>)),
        (c"malloc_usable_size", at!(plugin::usable_size::<0>)),
    ]
}

/// Those that make blocks, or tell about all of them: each has the same name here. Their
/// addresses are not written here, since the loader would then look each of them up at
/// the start of every program.
const MAKERS: [&CStr; 9] = [
    c"malloc",
    c"calloc",
    c"aligned_alloc",
    c"memalign",
    c"posix_memalign",
    c"valloc",
    c"pvalloc",
    c"malloc_trim",
    c"mallopt",
];

/// What this library has by these names; 0 for what it has not.
fn makers() -> [Meaning; MAKERS.len()] {
    let mut makers = MAKERS.map(|name| (name, 0));
    objects::each(|object| {
        if !object.is_ours() {
            return ControlFlow::Continue(());
        }
        for (name, address) in &mut makers {
            *address = object.address_of(name).unwrap_or(0);
        }
        ControlFlow::Break(())
    });
    makers
}

/// What of libc's names means ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Nothing.
    Nothing = 0,
    /// What takes blocks: whoever has libc's `free` may be given one of ours.
    Takers = 1,
    /// All of the family.
    Family = 2,
}

static REACHED: AtomicU8 = AtomicU8::new(Reach::Nothing as u8);

fn has_reached(reach: Reach) -> bool {
    REACHED.load(Ordering::Acquire) >= reach as u8
}

/// Makes sure that a library that is loaded next binds to us, wherever it looks
/// first; whether that is so. Needs nothing where the heap is not ours.
#[inline]
pub(crate) fn prepare(reach: Reach) -> bool {
    has_reached(reach) || bind(reach)
}

#[cold]
fn bind(reach: Reach) -> bool {
    if host_malloc::heap() != host_malloc::Heap::Ours {
        return true;
    }
    let makers = makers();
    // Two threads take turns by the loader's own lock.
    objects::each(|object| {
        let is_libc =
            object.own_name() == Some(c"libc.so.6") && object.address_of(c"malloc").is_some();
        if !has_reached(reach) && is_libc {
            change_libc(object, reach, &makers);
        }
        match is_libc {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    has_reached(reach)
}

fn change_libc(libc: &Object<'_>, reach: Reach, makers: &[Meaning]) {
    if !has_reached(Reach::Takers) {
        remember(libc, &LIBCS[0]);
        if !change(libc, &takers()) {
            return;
        }
    }
    let is_whole = || makers.iter().all(|(_, address)| *address != 0);
    if reach == Reach::Takers || is_whole() && change(libc, makers) {
        REACHED.store(reach as u8, Ordering::Release);
    }
}

/// Notes the functions of a libc before its table says something else.
pub(crate) fn remember(object: &Object<'_>, libc: &Libc) {
    for (place, name) in [
        (&libc.free, c"free"),
        (&libc.realloc, c"realloc"),
        (&libc.usable_size, c"malloc_usable_size"),
    ] {
        place.store(object.address_of(name).unwrap_or(0), Ordering::Release);
    }
}

/// Gives names in an object's table new meanings; `false` where the table
/// cannot be written.
pub(crate) fn change(object: &Object<'_>, meanings: &[Meaning]) -> bool {
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
    for (name, meaning) in meanings {
        object.definitions(name, |symbol| {
            put(symbol, meaning.wrapping_sub(object.base))
        });
    }
    let _ = protect(before);
    true
}

/// Writes what is to be added to the object's address, whoever calls. Other threads
/// may look at it meanwhile.
fn put(symbol: *mut Symbol, value: usize) {
    // SAFETY: one of the object's symbols.
    let other = unsafe { &raw mut (*symbol).st_other };
    // SAFETY: a byte of the object's table, which `change` made writable.
    let byte = unsafe { AtomicU8::from_ptr(other) };
    byte.fetch_and(!LOCAL_ENTRY, Ordering::Release);
    // SAFETY: one of the object's symbols.
    let place = unsafe { &raw mut (*symbol).st_value };
    // SAFETY: an aligned word of the object's table, which `change` made
    // writable.
    let word = unsafe { AtomicU64::from_ptr(place) };
    word.store(value as u64, Ordering::Release);
}

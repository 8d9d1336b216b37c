//! Has libc's own names for the malloc family mean ours, for whoever looks into
//! libc before he looks at the program's list of libraries.
//!
//! A library that is loaded with `RTLD_DEEPBIND` finds malloc and free in libc
//! while the program has ours, and blocks go from one to the other. So libc's
//! names are bound to ours before: see `hugetlbfs::loader::rebind`.
//!
//! Other programs look into libc by `dlsym` and a handle of it, or of whatever
//! needs it. To these libc's malloc is left, but what takes blocks is ours from
//! the first `dlopen` on.
use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering};

use hugetlbfs::loader::objects::Object;
use hugetlbfs::loader::rebind::{self, Meaning};

use crate::dlopen::plugin::{self, LIBCS, Libc};
use crate::host_malloc;

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

/// Those that make blocks, or tell about all of them: each has the same name here.
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
    let makers = rebind::own(MAKERS);
    // Two threads take turns by the loader's own lock.
    rebind::with_glibc(|libc| {
        if !has_reached(reach) {
            change_libc(libc, reach, &makers);
        }
    });
    has_reached(reach)
}

fn change_libc(libc: &Object<'_>, reach: Reach, makers: &[Meaning]) {
    if !has_reached(Reach::Takers) {
        remember(libc, &LIBCS[0]);
        if !rebind::change(libc, &takers()) {
            return;
        }
    }
    let is_whole = || makers.iter().all(|(_, address)| *address != 0);
    if reach == Reach::Takers || is_whole() && rebind::change(libc, makers) {
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

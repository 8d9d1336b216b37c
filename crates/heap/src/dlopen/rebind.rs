//! Redirects libc's malloc family to ours for code that searches libc before the program's list of
//! libraries; see `hugetlbfs::loader::rebind`.
//!
//! A library opened with `RTLD_DEEPBIND` finds malloc and free in libc while the program has ours,
//! and they exchange blocks. Other code calls `dlsym` with a handle of libc: after any `dlopen` it
//! finds our functions that take blocks, after one with `RTLD_DEEPBIND` our malloc, too.
use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering};

use hugetlbfs::loader::objects::Object;
use hugetlbfs::loader::rebind::{self, Meaning};

use crate::dlopen::plugin::{self, LIBC};
use crate::host_malloc;

macro_rules! at {
    ($function:expr) => {
        $function as *const () as usize
    };
}

/// Functions that take blocks.
fn free_family() -> [Meaning; 9] {
    [
        (c"free", at!(plugin::free)),
        (c"cfree", at!(plugin::free)),
        (c"__libc_free", at!(plugin::free)),
        (c"free_sized", at!(plugin::free)),
        (c"free_aligned_sized", at!(plugin::free)),
        (c"realloc", at!(plugin::realloc)),
        (c"reallocarray", at!(plugin::reallocarray)),
        (c"__libc_realloc", at!(plugin::realloc)),
        (c"malloc_usable_size", at!(plugin::usable_size)),
    ]
}

/// Functions that return blocks or concern the whole heap; ours have the same names.
const MALLOC_FAMILY: [&CStr; 9] = [
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

/// Which of libc's names are redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// None.
    Nothing = 0,
    /// Functions that take blocks: libc's `free` may get a block of ours.
    Free = 1,
    /// All.
    All = 2,
}

static REACHED: AtomicU8 = AtomicU8::new(Reach::Nothing as u8);

fn has_reached(reach: Reach) -> bool {
    REACHED.load(Ordering::Acquire) >= reach as u8
}

/// Ensures that the next library binds to us; returns whether it will. If the heap isn't ours, does
/// nothing and returns true.
#[inline]
pub(crate) fn prepare(reach: Reach) -> bool {
    has_reached(reach) || bind(reach)
}

#[cold]
fn bind(reach: Reach) -> bool {
    if host_malloc::heap() != host_malloc::Heap::Ours {
        return true;
    }
    let family = rebind::own(MALLOC_FAMILY);
    // The loader's lock serialises threads.
    rebind::with_glibc(|libc| {
        if !has_reached(reach) {
            change_libc(libc, reach, &family);
        }
    });
    has_reached(reach)
}

fn change_libc(libc: &Object<'_>, reach: Reach, family: &[Meaning]) {
    if !has_reached(Reach::Free) {
        note_libc(libc);
        if !rebind::change(libc, &free_family()) {
            return;
        }
        REACHED.store(Reach::Free as u8, Ordering::Release);
    }
    let is_complete = || family.iter().all(|(_, address)| *address != 0);
    if reach != Reach::Free && is_complete() && rebind::change(libc, family) {
        REACHED.store(reach as u8, Ordering::Release);
    }
}

/// Stores the addresses of libc's functions before its table changes.
fn note_libc(object: &Object<'_>) {
    for (place, name) in [
        (&LIBC.free, c"free"),
        (&LIBC.realloc, c"realloc"),
        (&LIBC.usable_size, c"malloc_usable_size"),
    ] {
        place.store(object.address_of(name).unwrap_or(0), Ordering::Release);
    }
}

//! A malloc that the program keeps: all calls go there. It is a sanitizer's, which must know every
//! block, or one that the program also calls by other names.
//!
//! A sanitizer calls malloc before look-ups work. Its functions have second names, whose addresses
//! the loader puts into words.
//!
//! [`mod@next`]: look-up of the next definition; [`foreign`]: single blocks of another malloc.
//!
//! **Invariants.** The decision never changes. A block returns to the malloc that made it; if that
//! can't be found, it leaks.
//!
//! **Locks.** None: the decision is [`Heap::Unknown`] during the look-up, which may call malloc.
//!
//! **At a fork.** The child has the same malloc.
#![expect(unsafe_code, reason = "looks functions up and calls them")]

use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use hugetlbfs::loader::host_malloc;
use hugetools_pages::rt::weak::function;
use hugetools_pages::word;

use crate::host_malloc::next::next;

pub(crate) mod foreign;
pub(crate) mod next;

word!(hugetools_checker_malloc);
word!(hugetools_checker_calloc);
word!(hugetools_checker_realloc);
word!(hugetools_checker_memalign);
word!(hugetools_checker_free);
word!(hugetools_checker_usable_size);

/// Whose malloc the program uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heap {
    Ours,
    /// Being looked up.
    Unknown,
    /// The program's own.
    Theirs,
}

const NEW: u8 = 0;
const LOOKING: u8 = 1;
const OURS: u8 = 2;
const THEIRS: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(NEW);

/// Addresses of the other malloc's functions.
static MALLOC: AtomicUsize = AtomicUsize::new(0);
static CALLOC: AtomicUsize = AtomicUsize::new(0);
static REALLOC: AtomicUsize = AtomicUsize::new(0);
static MEMALIGN: AtomicUsize = AtomicUsize::new(0);
static FREE: AtomicUsize = AtomicUsize::new(0);
static USABLE_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Returns whose malloc the program uses; the first call decides.
#[cold]
pub(crate) fn heap() -> Heap {
    match STATE.compare_exchange(NEW, LOOKING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let found = host_malloc::reason().is_some() && find();
            let state = if found { THEIRS } else { OURS };
            STATE.store(state, Ordering::Release);
            if found { Heap::Theirs } else { Heap::Ours }
        }
        Err(THEIRS) => Heap::Theirs,
        Err(OURS) => Heap::Ours,
        // The look-up is in progress and may have called malloc.
        Err(_) => Heap::Unknown,
    }
}

/// Looks all functions up; returns whether all exist.
fn find() -> bool {
    // SAFETY: words of this library that the loader wrote before any code ran.
    let words = unsafe {
        [
            &hugetools_checker_malloc,
            &hugetools_checker_calloc,
            &hugetools_checker_realloc,
            &hugetools_checker_memalign,
            &hugetools_checker_free,
            &hugetools_checker_usable_size,
        ]
    };
    let functions = [&MALLOC, &CALLOC, &REALLOC, &MEMALIGN, &FREE, &USABLE_SIZE];
    let names = [
        c"malloc",
        c"calloc",
        c"realloc",
        c"memalign",
        c"free",
        c"malloc_usable_size",
    ];
    let mut all = true;
    for ((function, word), name) in functions.into_iter().zip(words).zip(names) {
        let address = match word.load(Ordering::Relaxed) {
            0 => next(name),
            address => address,
        };
        function.store(address, Ordering::Relaxed);
        all &= address != 0;
    }
    all
}

type Malloc = extern "C" fn(usize) -> *mut c_void;
type Pair = extern "C" fn(usize, usize) -> *mut c_void;
type Realloc = extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Free = extern "C" fn(*mut c_void);
type UsableSize = extern "C" fn(*const c_void) -> usize;

/// Reads a function; `None` if its address is unknown.
macro_rules! function {
    ($function:ident as $type:ty) => {{
        let address = $function.load(Ordering::Relaxed);
        // SAFETY: the address of the function of that name and type.
        unsafe { function::<$type>(address) }
    }};
}

#[cold]
pub(crate) fn malloc(size: usize) -> *mut c_void {
    function!(MALLOC as Malloc).map_or(core::ptr::null_mut(), |malloc| malloc(size))
}

#[cold]
pub(crate) fn calloc(count: usize, size: usize) -> *mut c_void {
    function!(CALLOC as Pair).map_or(core::ptr::null_mut(), |calloc| calloc(count, size))
}

#[cold]
pub(crate) fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    function!(REALLOC as Realloc).map_or(core::ptr::null_mut(), |realloc| realloc(block, size))
}

#[cold]
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void {
    let memalign = function!(MEMALIGN as Pair);
    memalign.map_or(core::ptr::null_mut(), |memalign| memalign(alignment, size))
}

#[cold]
pub(crate) fn free() -> Option<Free> {
    function!(FREE as Free)
}

#[cold]
pub(crate) fn usable_size() -> Option<UsableSize> {
    function!(USABLE_SIZE as UsableSize)
}

//! Another malloc that must stay: all that is asked of us goes there.
//!
//! It is that of AddressSanitizer, `ThreadSanitizer` or `LeakSanitizer`, which
//! must know of every block; or one that the program also calls by another
//! name, by which it would get blocks of ours.
//!
//! A sanitizer's functions have a second name, by which the loader finds them
//! whatever stands before: nothing can be looked up while it starts, which is
//! when it calls for the first time.
//!
//! [`next`] finds the functions of libc, or of another library, that ours stand before;
//! [`foreign`] are single blocks of another malloc's in a program that has ours.
//!
//! **Invariants.** Whose the heap is does not change once it is known. A block goes back
//! to the malloc that it came from, or, where that cannot be found, stays for ever.
//!
//! **Locks.** None: the thread that looks up first may call us again meanwhile, and is
//! answered that nothing is known yet.
//!
//! **At a fork.** The child has the same malloc.
#![expect(unsafe_code, reason = "looks functions up and calls them")]

use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use hugetlbfs::loader::host_malloc;
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

/// Whose the heap is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heap {
    /// Ours.
    Ours,
    /// Not known yet: it is being looked up.
    Unknown,
    /// The other's.
    Theirs,
}

const NEW: u8 = 0;
const LOOKING: u8 = 1;
const OURS: u8 = 2;
const THEIRS: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(NEW);

/// The functions of the other malloc, as numbers.
static MALLOC: AtomicUsize = AtomicUsize::new(0);
static CALLOC: AtomicUsize = AtomicUsize::new(0);
static REALLOC: AtomicUsize = AtomicUsize::new(0);
static MEMALIGN: AtomicUsize = AtomicUsize::new(0);
static FREE: AtomicUsize = AtomicUsize::new(0);
static USABLE_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Whose the heap is; found out by the first call.
#[cold]
pub(crate) fn heap() -> Heap {
    match STATE.compare_exchange(NEW, LOOKING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let found = host_malloc::by_whom().is_some() && find();
            let state = if found { THEIRS } else { OURS };
            STATE.store(state, Ordering::Release);
            if found { Heap::Theirs } else { Heap::Ours }
        }
        Err(THEIRS) => Heap::Theirs,
        Err(OURS) => Heap::Ours,
        // This thread, further up the stack: the look-up may ask for a block.
        Err(_) => Heap::Unknown,
    }
}

/// Finds all of the functions; whether they are there.
fn find() -> bool {
    // SAFETY: words of this library, written by the loader before any of its
    // code runs.
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

/// Reads a function; `None` where no other malloc is kept.
macro_rules! function {
    ($function:ident as $type:ty) => {{
        let address = $function.load(Ordering::Relaxed);
        // SAFETY: the address of the function of that name, whose type is that.
        (address != 0).then(|| unsafe { core::mem::transmute::<usize, $type>(address) })
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

/// How a block is freed.
#[cold]
pub(crate) fn free() -> Option<Free> {
    function!(FREE as Free)
}

/// How the usable size of a block is found.
#[cold]
pub(crate) fn usable_size() -> Option<UsableSize> {
    function!(USABLE_SIZE as UsableSize)
}

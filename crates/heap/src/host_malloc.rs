//! The other malloc: the next definition of each function, mostly libc's. It frees and resizes
//! the blocks that it made.
//!
//! All calls go there if the program keeps its malloc: a sanitizer's, which must know every block,
//! or one that the program also calls by other names. A sanitizer calls malloc before look-ups
//! work. Its functions have second names, whose addresses the loader puts into words.
//!
//! **Invariants.** The decision never changes. A block returns to the malloc that made it; if that
//! can't be found, it leaks.
//!
//! **Locks.** None: the decision is [`Heap::Unknown`] during the look-up, which may call malloc.
//!
//! **At a fork.** The child has the same malloc.
#![expect(unsafe_code, reason = "looks functions up and calls them")]

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use hugetlbfs::loader::host_malloc;
use hugetlbfs::next::dlsym_next;
use hugetools_pages::rt::weak::function;
use hugetools_pages::word;

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

/// A function of the other malloc.
struct Function {
    name: &'static CStr,
    /// 0 before the first use.
    address: AtomicUsize,
}

impl Function {
    const fn named(name: &'static CStr) -> Function {
        Function {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// Returns its address, looked up at the first use; 0 if it is missing.
    fn address(&self) -> usize {
        if self.address.load(Ordering::Relaxed) == 0 {
            self.set(dlsym_next(self.name));
        }
        self.address.load(Ordering::Relaxed)
    }

    /// Sets the address, unless it is known: once another thread has changed libc's table
    /// (`crate::dlopen`), a look-up finds our function.
    fn set(&self, address: usize) {
        let _ = (self.address).compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
    }
}

static MALLOC: Function = Function::named(c"malloc");
static CALLOC: Function = Function::named(c"calloc");
static REALLOC: Function = Function::named(c"realloc");
static MEMALIGN: Function = Function::named(c"memalign");
static FREE: Function = Function::named(c"free");
static USABLE_SIZE: Function = Function::named(c"malloc_usable_size");

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
pub(crate) fn find() -> bool {
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
    let mut all = true;
    for (function, word) in functions.into_iter().zip(words) {
        function.set(word.load(Ordering::Relaxed));
        all &= function.address() != 0;
    }
    all
}

/// Calls a function, or evaluates the expression after `else` if it is missing.
macro_rules! call {
    ($function:ident as fn($($type:ty),*) $(-> $result:ty)?, ($($argument:expr),*), else $otherwise:expr) => {{
        type Function = extern "C" fn($($type),*) $(-> $result)?;
        // SAFETY: the address of the function of that name and type.
        let function = unsafe { function::<Function>($function.address()) };
        function.map_or($otherwise, |function| function($($argument),*))
    }};
}

#[cold]
pub(crate) fn malloc(size: usize) -> *mut c_void {
    call!(MALLOC as fn(usize) -> *mut c_void, (size), else null_mut())
}

#[cold]
pub(crate) fn calloc(count: usize, size: usize) -> *mut c_void {
    call!(CALLOC as fn(usize, usize) -> *mut c_void, (count, size), else null_mut())
}

#[cold]
pub(crate) fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    call!(REALLOC as fn(*mut c_void, usize) -> *mut c_void, (block, size), else null_mut())
}

#[cold]
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void {
    call!(MEMALIGN as fn(usize, usize) -> *mut c_void, (alignment, size), else null_mut())
}

/// Frees a block; leaks it if there is no `free`.
#[cold]
pub(crate) fn free(block: *mut c_void) {
    call!(FREE as fn(*mut c_void), (block), else ())
}

#[cold]
pub(crate) fn usable_size(block: *const c_void) -> usize {
    call!(USABLE_SIZE as fn(*const c_void) -> usize, (block), else 0)
}

//! `dlopen(3)`: makes a library opened with `RTLD_DEEPBIND` use our memory calls instead of libc's,
//! and puts the libraries loaded before it on huge pages.
//!
//! The loader identifies the caller of `dlopen` by the return address. So our function ends with a
//! jump to the loader's: the last call, in an optimized build.
//!
//! **Invariants.** `dlopen` loads the same file and returns the same result as the loader's. libc's
//! symbol table changes in this process only. The value of each symbol changes atomically.
//!
//! **Locks.** None of ours, but look-ups take the loader's.
//!
//! **At a fork.** The child inherits the changed table.
#![expect(unsafe_code, reason = "exports a function of libc")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_pages::rt::message::{Level, say_once};
use hugetools_pages::rt::weak::function;
use hugetools_pages::{weak_function, word};

use crate::loader::{objects, rebind};
use crate::next::{self, later};
use crate::program_segments;

/// `RTLD_DEEPBIND`: symbols are looked up in the library and its dependencies first.
const RTLD_DEEPBIND: c_int = 8;

/// Functions of libc to redefine as ours: memory calls, and thread creation because private memory
/// may have to leave the pool before the first thread is created.
const NAMES: [&CStr; 16] = [
    c"mmap",
    c"mmap64",
    c"munmap",
    c"mremap",
    c"mprotect",
    c"pkey_mprotect",
    c"madvise",
    c"mlock",
    c"mlock2",
    c"mlockall",
    c"munlockall",
    c"shmget",
    c"shmat",
    c"shmdt",
    c"pthread_create",
    c"thrd_create",
];

word!(hugetools_bind_malloc_word);

#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    program_segments::libraries_loaded();
    let flags = bind(flags);
    // SAFETY: the address of the function of that name.
    match unsafe { function::<Dlopen>(next_dlopen()) } {
        // SAFETY: upheld by the caller.
        Some(next) => unsafe { next(file, flags) },
        None => core::ptr::null_mut(),
    }
}

/// Redefines libc's functions as ours for `RTLD_DEEPBIND`. Returns the flags, without
/// `RTLD_DEEPBIND` if libc's table can't be changed.
fn bind(flags: c_int) -> c_int {
    static WARNED: AtomicBool = AtomicBool::new(false);
    type BindMalloc = extern "C" fn() -> bool;
    if flags & RTLD_DEEPBIND == 0 {
        return flags;
    }
    let bind_malloc = weak_function!(hugetools_bind_malloc_word as BindMalloc);
    if bind_malloc.is_none_or(|bind_malloc| bind_malloc()) && bind_memory() {
        return flags;
    }
    say_once(
        &WARNED,
        Level::Warning,
        format_args!(
            "dlopen: RTLD_DEEPBIND is ignored, because libc's symbol table cannot be changed"
        ),
    );
    flags & !RTLD_DEEPBIND
}

/// Redefines [`NAMES`] as ours; returns false if libc's table can't be written.
fn bind_memory() -> bool {
    static BOUND: AtomicBool = AtomicBool::new(false);
    // A look-up after the change would find our functions.
    later::find_all();
    rebind::to_ours(NAMES, &BOUND)
}

/// Returns the address of the next `dlopen`, mostly the loader's; 0 if there is none.
#[inline(never)]
fn next_dlopen() -> usize {
    static ADDRESS: AtomicUsize = AtomicUsize::new(0);
    if ADDRESS.load(Ordering::Relaxed) == 0 {
        let found = match next::dlsym_next(c"dlopen") {
            0 => search(),
            found => found,
        };
        ADDRESS.store(found, Ordering::Relaxed);
    }
    ADDRESS.load(Ordering::Relaxed)
}

/// Searches all objects. Before glibc 2.34, `dlopen` and `dlsym` are in libdl, which may have been
/// loaded after the start.
#[cold]
fn search() -> usize {
    let mut found = 0;
    objects::each(|object| {
        if !object.is_a_copy() {
            found = object.address_of(c"dlopen").unwrap_or(0);
        }
        match found {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    found
}

//! `dlopen(3)`: binds a library opened with `RTLD_DEEPBIND` to our memory calls, too.
//!
//! The loader identifies the caller of `dlopen` by the return address, so our function ends with a
//! jump to the loader's.
//!
//! **Invariants.** `dlopen` loads the same file and returns the same result as the loader's. libc's
//! tables change in this process only, one word at a time.
//!
//! **Locks.** None of ours; the loader's.
//!
//! **At a fork.** The child has the changed tables.
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

/// `RTLD_DEEPBIND`: the library and its dependencies are searched before the program.
const RTLD_DEEPBIND: c_int = 8;

/// Names to bind to ours: memory calls, and thread creation, since memory may have to leave a pool
/// before a thread starts.
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
    match unsafe { function::<Dlopen>(real()) } {
        // SAFETY: upheld by the caller.
        Some(real) => unsafe { real(file, flags) },
        None => core::ptr::null_mut(),
    }
}

/// Redefines libc's functions as ours for `RTLD_DEEPBIND`. Returns the flags, without
/// `RTLD_DEEPBIND` if libc's table can't be changed.
fn bind(flags: c_int) -> c_int {
    static SAID: AtomicBool = AtomicBool::new(false);
    type BindMalloc = extern "C" fn() -> bool;
    if flags & RTLD_DEEPBIND == 0 {
        return flags;
    }
    let bind_malloc = weak_function!(hugetools_bind_malloc_word as BindMalloc);
    if bind_malloc.is_none_or(|bind_malloc| bind_malloc()) && bind_memory() {
        return flags;
    }
    say_once(
        &SAID,
        Level::Warning,
        format_args!(
            "dlopen: without RTLD_DEEPBIND, since libc's symbols cannot be redefined here"
        ),
    );
    flags & !RTLD_DEEPBIND
}

/// Binds [`NAMES`]; returns false if libc's table can't be written.
fn bind_memory() -> bool {
    static BOUND: AtomicBool = AtomicBool::new(false);
    // A look-up after the change would find our functions.
    later::find_all();
    rebind::to_ours(NAMES, &BOUND)
}

/// Returns the address of the loader's `dlopen`; 0 if there is none.
#[inline(never)]
fn real() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    if KNOWN.load(Ordering::Relaxed) == 0 {
        let found = match next::dlsym_next(c"dlopen") {
            0 => search(),
            found => found,
        };
        KNOWN.store(found, Ordering::Relaxed);
    }
    KNOWN.load(Ordering::Relaxed)
}

/// Searches all objects: before glibc 2.34 the function is in libdl, which the program may have
/// loaded later.
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

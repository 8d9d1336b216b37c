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

use hugetools_pages::rt::weak::function;
use hugetools_pages::{weak_function, word};

use crate::loader::{objects, rebind};
use crate::next::{self, later};
use crate::program_segments;

/// `RTLD_DEEPBIND`: the library and its dependencies are searched before the program.
pub const RTLD_DEEPBIND: c_int = 8;

/// Names to bind to ours: memory calls, and thread creation, since memory may have to leave a pool
/// before a thread starts.
const NAMES: [&CStr; 17] = [
    c"mmap",
    c"mmap64",
    c"munmap",
    c"mremap",
    c"mprotect",
    c"pkey_mprotect",
    c"madvise",
    c"mlock",
    c"mlock2",
    c"munlock",
    c"mlockall",
    c"munlockall",
    c"shmget",
    c"shmat",
    c"shmdt",
    c"pthread_create",
    c"thrd_create",
];

word!(hugetools_dlopen_of_heap);

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Flags = extern "C" fn(c_int) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    static DLOPEN: AtomicUsize = AtomicUsize::new(0);
    program_segments::libraries_loaded();
    let flags = bind(flags);
    // SAFETY: the address of the function of that name.
    match unsafe { function::<Dlopen>(real(&DLOPEN, c"dlopen")) } {
        // SAFETY: upheld by the caller.
        Some(real) => unsafe { real(file, flags) },
        None => core::ptr::null_mut(),
    }
}

/// Binds libc's names to ours as needed. Returns the flags, without `RTLD_DEEPBIND` if libc's
/// table can't be changed.
fn bind(flags: c_int) -> c_int {
    let flags = match weak_function!(hugetools_dlopen_of_heap as Flags) {
        Some(malloc_bound) => malloc_bound(flags),
        None => flags,
    };
    match flags & RTLD_DEEPBIND != 0 && !bind_memory() {
        true => flags & !RTLD_DEEPBIND,
        false => flags,
    }
}

/// Binds [`NAMES`]; returns false if libc's table can't be written.
fn bind_memory() -> bool {
    static BOUND: AtomicBool = AtomicBool::new(false);
    // A look-up after the change would find our functions.
    later::find_all();
    rebind::to_ours(NAMES, &BOUND)
}

/// Returns the address of the loader's function of this name; 0 if there is none.
#[inline(never)]
fn real(known: &AtomicUsize, name: &CStr) -> usize {
    if known.load(Ordering::Relaxed) == 0 {
        let found = match next::dlsym_next(name) {
            0 => search(name),
            found => found,
        };
        known.store(found, Ordering::Relaxed);
    }
    known.load(Ordering::Relaxed)
}

/// Searches all objects: before glibc 2.34 the function is in libdl, which the program may have
/// loaded later.
#[cold]
fn search(name: &CStr) -> usize {
    let mut found = 0;
    objects::each(|object| {
        if !object.is_a_copy() {
            found = object.address_of(name).unwrap_or(0);
        }
        match found {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    found
}

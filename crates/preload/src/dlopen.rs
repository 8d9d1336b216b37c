//! `dlopen(3)` with `RTLD_DEEPBIND`: a library that looks into libc before it looks at the
//! program calls our functions for memory all the same.
//!
//! The loader searches for a library on behalf of the caller of `dlopen`, which it finds by
//! the return address. So our function ends with a jump to the loader's.
//!
//! **Invariants.** `dlopen` returns what it would return without us, and loads the same file.
//! Tables of libc are changed in this process only, and each word with one store.
//!
//! **Locks.** None of ours; the loader holds its own.
//!
//! **At a fork.** The child has the changed tables, too.
#![expect(unsafe_code, reason = "exports a function of libc")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_pages::{weak_function, word};

use crate::loader::{objects, rebind};
use crate::next::{self, later};

/// For `dlopen(3)`: the library's own dependencies come before the program.
pub const RTLD_DEEPBIND: c_int = 8;

/// What is bound to ours: calls that change memory, and those that make threads, before the
/// first of which memory may have to leave a pool.
const NAMES: [&CStr; 21] = [
    c"mmap",
    c"mmap64",
    c"munmap",
    c"mremap",
    c"mprotect",
    c"pkey_mprotect",
    c"madvise",
    c"posix_madvise",
    c"process_madvise",
    c"remap_file_pages",
    c"mlock",
    c"mlock2",
    c"munlock",
    c"mlockall",
    c"munlockall",
    c"shmget",
    c"shmat",
    c"shmdt",
    c"shmctl",
    c"pthread_create",
    c"thrd_create",
];

word!(hugetools_dlopen_of_heap);

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Flags = extern "C" fn(c_int) -> c_int;

/// `dlopen(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    static DLOPEN: AtomicUsize = AtomicUsize::new(0);
    let flags = prepare(flags);
    match real(&DLOPEN, c"dlopen") {
        0 => core::ptr::null_mut(),
        real => {
            // SAFETY: the address of the function of that name.
            let real = unsafe { core::mem::transmute::<usize, Dlopen>(real) };
            // SAFETY: as the caller says.
            unsafe { real(file, flags) }
        }
    }
}

/// Binds libc's names to ours as far as a library opened with these flags needs it. Returns
/// the flags, without `RTLD_DEEPBIND` if libc's table cannot be changed.
pub fn prepare(flags: c_int) -> c_int {
    let flags = match weak_function!(hugetools_dlopen_of_heap as Flags) {
        Some(malloc_bound) => malloc_bound(flags),
        None => flags,
    };
    match flags & RTLD_DEEPBIND != 0 && !bind_memory() {
        true => flags & !RTLD_DEEPBIND,
        false => flags,
    }
}

/// Binds [`NAMES`] once; `false` if libc's table cannot be written.
fn bind_memory() -> bool {
    static BOUND: AtomicBool = AtomicBool::new(false);
    if BOUND.load(Ordering::Acquire) {
        return true;
    }
    // Later it would find ours.
    later::find_all();
    let all = rebind::own(NAMES);
    let mut is_bound = true;
    rebind::with_glibc(|libc| is_bound = rebind::change(libc, &all));
    BOUND.store(is_bound, Ordering::Release);
    is_bound
}

/// The loader's function of a name; 0 if there is none.
#[inline(never)]
pub fn real(known: &AtomicUsize, name: &CStr) -> usize {
    if known.load(Ordering::Relaxed) == 0 {
        let found = match next::ask(name) {
            None | Some(0) => search(name),
            Some(found) => found,
        };
        known.store(found, Ordering::Relaxed);
    }
    known.load(Ordering::Relaxed)
}

/// Looks for it in all that is loaded: before glibc 2.34 it is in a library that
/// the program may not have, only one that it loaded later.
#[cold]
fn search(name: &CStr) -> usize {
    let mut found = 0;
    objects::each(|object| {
        if !object.is_ours() {
            found = object.address_of(name).unwrap_or(0);
        }
        match found {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    found
}

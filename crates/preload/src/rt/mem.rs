//! Functions that compilers call by name. The version script (`nodes.map`) keeps them local; see
//! [`hugetools_pages::rt::mem`] for why libc's aren't used.
#![expect(unsafe_code, reason = "defines functions that compilers call")]

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::rt::mem;
use hugetools_pages::rt::weak::function;

/// libc's `memmove` and `memset`, or 0 before they are bound and in the library without malloc.
/// Their wide loads and stores speed up `realloc` and `calloc` of larger blocks.
static LIBCS_MEMMOVE: AtomicUsize = AtomicUsize::new(0);
static LIBCS_MEMSET: AtomicUsize = AtomicUsize::new(0);

/// Copies and fills up to this length (bytes) don't call libc.
const SHORT: usize = 128;

/// Sets the addresses of libc's `memmove` and `memset`.
///
/// # Safety
/// They must be the addresses of such functions, or 0.
pub(crate) unsafe fn know_libcs(memmove: usize, memset: usize) {
    LIBCS_MEMMOVE.store(memmove, Ordering::Relaxed);
    LIBCS_MEMSET.store(memset, Ordering::Relaxed);
}

/// # Safety
/// As for C's function of the same name; so for all of these.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: upheld by the caller.
    unsafe { memmove(to, from, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    type Memmove = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
    if len > SHORT {
        let libcs = LIBCS_MEMMOVE.load(Ordering::Relaxed);
        // SAFETY: as the caller of `know_libcs` promised.
        if let Some(memmove) = unsafe { function::<Memmove>(libcs) } {
            // SAFETY: upheld by the caller.
            return unsafe { memmove(to, from, len) };
        }
    }
    // SAFETY: upheld by the caller.
    unsafe { mem::copy(to.cast(), from.cast(), len) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut c_void, value: c_int, len: usize) -> *mut c_void {
    type Memset = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
    if len > SHORT {
        let libcs = LIBCS_MEMSET.load(Ordering::Relaxed);
        // SAFETY: as the caller of `know_libcs` promised.
        if let Some(memset) = unsafe { function::<Memset>(libcs) } {
            // SAFETY: upheld by the caller.
            return unsafe { memset(to, value, len) };
        }
    }
    let [value, ..] = value.to_le_bytes();
    // SAFETY: upheld by the caller.
    unsafe { mem::fill(to.cast(), value, len) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const c_void, b: *const c_void, len: usize) -> c_int {
    // SAFETY: upheld by the caller.
    unsafe { mem::compare(a.cast(), b.cast(), len) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const c_void, b: *const c_void, len: usize) -> c_int {
    // SAFETY: upheld by the caller.
    unsafe { mem::compare(a.cast(), b.cast(), len) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    // SAFETY: upheld by the caller.
    unsafe { mem::length(text) }
}

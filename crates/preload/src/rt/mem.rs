//! Functions that compilers call by name. The version script (`nodes.map`) keeps them local; see
//! [`hugetools_pages::rt::mem`] for why libc's aren't used.
#![expect(unsafe_code, reason = "defines functions that compilers call")]

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::rt::mem;
use hugetools_pages::rt::weak::function;

/// libc's `memset`, or 0 before it is bound. Its wide stores speed up `calloc` of larger blocks.
static LIBCS_MEMSET: AtomicUsize = AtomicUsize::new(0);

/// Fills up to this length (bytes) don't call libc's `memset`.
const SHORT_FILL: usize = 128;

/// Sets the address of libc's `memset`.
///
/// # Safety
/// It must be the address of such a function, or 0.
pub(crate) unsafe fn know_memset(address: usize) {
    LIBCS_MEMSET.store(address, Ordering::Relaxed);
}

/// # Safety
/// As for C's function of the same name; so for all of these.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: upheld by the caller.
    unsafe { mem::copy(to.cast(), from.cast(), len) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: upheld by the caller.
    unsafe { mem::copy(to.cast(), from.cast(), len) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut c_void, value: c_int, len: usize) -> *mut c_void {
    type Memset = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
    if len > SHORT_FILL {
        // SAFETY: as the caller of `know_memset` promised.
        if let Some(memset) = unsafe { function::<Memset>(LIBCS_MEMSET.load(Ordering::Relaxed)) } {
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

//! What mimalloc needs to learn of a thread's end: `mimalloc.c` has when that is.
//!
//! A destructor of the program's may ask for memory after that, once more than
//! libc calls them. What it got then is found by the next thread that has the
//! place in memory of that one.
//! Before glibc 2.34 these
//! functions are in libpthread, which a program without threads does not have:
//! such a program has no thread whose end could be missed.
#![expect(
    unsafe_code,
    reason = "exports functions, refers to libc's weakly and is a constructor"
)]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use hugetools_pages::{sys, weak_function, word};

use crate::mimalloc;

#[cfg(not(target_arch = "powerpc64"))]
core::arch::global_asm!(
    include_str!("../../../pages/src/rt/word_macros.s"),
    include_str!("../words.s"),
    options(raw)
);

// By these names the linker's `--wrap` gives libc's own functions.
word!(hugetools_key_create);
word!(hugetools_key_delete);
word!(hugetools_setspecific);

type Key = libc::pthread_key_t;
type Destructor = Option<extern "C" fn(*mut c_void)>;

/// mimalloc's key, once there is one; its destructor is called by `thread_end`.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);

const NO_KEY: Key = Key::MAX;

/// Has the key before the program has many: libc keeps the values of the first
/// ones with the thread, but asks for memory when a thread sets one of the
/// others, and forgets what that sets in turn.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let _ = key();
}

/// The key, or libc's error.
fn key() -> Result<Key, c_int> {
    type Create = extern "C" fn(*mut Key, Destructor) -> c_int;
    let known = KEY.load(Ordering::Acquire);
    if known != NO_KEY {
        return Ok(known);
    }
    let Some(create) = weak_function!(hugetools_key_create as Create) else {
        return Err(libc::ENOSYS);
    };
    let mut new = NO_KEY;
    match create(&raw mut new, Some(thread_end)) {
        0 => {
            KEY.store(new, Ordering::Release);
            Ok(new)
        }
        error => Err(error),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_key_create(place: *mut Key, _destructor: Destructor) -> c_int {
    match key() {
        Ok(key) => {
            // SAFETY: mimalloc's own variable.
            unsafe { place.write(key) };
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_key_delete(key: Key) -> c_int {
    type Delete = extern "C" fn(Key) -> c_int;
    match weak_function!(hugetools_key_delete as Delete) {
        Some(delete) => delete(key),
        None => libc::ENOSYS,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_setspecific(key: Key, value: *const c_void) -> c_int {
    type Set = extern "C" fn(Key, *const c_void) -> c_int;
    match weak_function!(hugetools_setspecific as Set) {
        Some(set) => {
            if mimalloc::hugetools_is_over() {
                LATE.put(sys::thread_name(), value as usize);
            }
            set(key, value)
        }
        None => libc::ENOSYS,
    }
}

extern "C" fn thread_end(heap: *mut c_void) {
    // SAFETY: what mimalloc set its key to, in the thread that did so.
    unsafe { mimalloc::hugetools_thread_end(heap, __wrap_pthread_setspecific) };
}

/// To be called when a thread begins with mimalloc: ends what an earlier one has
/// left at its place.
pub(crate) fn begin() {
    if let Some(heap) = LATE.take(sys::thread_name()) {
        // SAFETY: that of a thread which is no more: this one has its place.
        unsafe { mimalloc::_mi_thread_done(heap as *mut c_void) };
    }
}

/// Heaps of threads that are over, by the names of those.
struct Late {
    places: [(AtomicUsize, AtomicUsize); Late::PLACES],
    count: AtomicUsize,
}

static LATE: Late = Late {
    places: [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; Late::PLACES],
    count: AtomicUsize::new(0),
};

impl Late {
    /// More are lost.
    const PLACES: usize = 256;

    fn put(&self, name: usize, heap: usize) {
        let take = |(place, _): &&(AtomicUsize, AtomicUsize)| {
            place
                .compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        if let Some((place, value)) = self.places.iter().find(take) {
            value.store(heap, Ordering::Relaxed);
            place.store(name, Ordering::Release);
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take(&self, name: usize) -> Option<usize> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let take = |(place, _): &&(AtomicUsize, AtomicUsize)| {
            place
                .compare_exchange(name, BUSY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        let (place, value) = self.places.iter().find(take)?;
        let heap = value.load(Ordering::Relaxed);
        place.store(0, Ordering::Release);
        self.count.fetch_sub(1, Ordering::Relaxed);
        Some(heap)
    }
}

/// A place that is being changed; no thread has this name.
const BUSY: usize = 1;

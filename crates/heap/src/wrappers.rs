//! Functions of libc that mimalloc calls through us (the linker's `--wrap`).
#![expect(unsafe_code, reason = "exports functions that take addresses")]

use core::ffi::{c_int, c_void};

use hugetools_pages::rt::fork_gate::GATE;
use hugetools_pages::sys::{self, cast};
use hugetools_pages::{weak_function, word};

use crate::idle;

#[cfg(not(target_arch = "powerpc64"))]
core::arch::global_asm!(
    include_str!("rt/word_macros.s"),
    include_str!("words.s"),
    options(raw)
);

// Before glibc 2.34 these are in libpthread, which a program without threads doesn't load.
word!(hugetools_key_create);
word!(hugetools_setspecific);

type Key = libc::pthread_key_t;

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_key_create(
    key: *mut Key,
    destructor: Option<extern "C" fn(*mut c_void)>,
) -> c_int {
    type Create = extern "C" fn(*mut Key, Option<extern "C" fn(*mut c_void)>) -> c_int;
    let create = weak_function!(hugetools_key_create as Create);
    create.map_or(libc::ENOSYS, |create| create(key, destructor))
}

/// Keeps mimalloc's key at the end of the process: to delete it, musl blocks signals, which the
/// program's seccomp filter may forbid.
#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_key_delete(_key: Key) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_setspecific(key: Key, value: *const c_void) -> c_int {
    type Set = extern "C" fn(Key, *const c_void) -> c_int;
    let set = weak_function!(hugetools_setspecific as Set);
    set.map_or(libc::ENOSYS, |set| set(key, value))
}

type Mutex = libc::pthread_mutex_t;

unsafe extern "C" {
    fn __real_pthread_mutex_lock(mutex: *mut Mutex) -> c_int;
    fn __real_pthread_mutex_unlock(mutex: *mut Mutex) -> c_int;
}

/// mimalloc's locks are held inside the gate: a fork waits for them, since in the child nobody
/// would release the lock of another thread.
///
/// # Safety
/// As for `pthread_mutex_lock(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_lock(mutex: *mut Mutex) -> c_int {
    GATE.enter();
    // SAFETY: upheld by the caller.
    unsafe { __real_pthread_mutex_lock(mutex) }
}

/// # Safety
/// As for `pthread_mutex_unlock(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
    // SAFETY: upheld by the caller.
    let result = unsafe { __real_pthread_mutex_unlock(mutex) };
    GATE.leave();
    result
}

unsafe extern "C" {
    fn __real_clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int;
}

/// mimalloc reads the monotonic clock when it frees a page, so [`idle`] is told of each read. The
/// coarse clock is read instead: it is cheaper and exact enough.
///
/// # Safety
/// As for `clock_gettime(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_clock_gettime(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> c_int {
    let is_monotonic = clock == libc::CLOCK_MONOTONIC;
    let clock = match is_monotonic {
        true => libc::CLOCK_MONOTONIC_COARSE,
        false => clock,
    };
    // SAFETY: upheld by the caller.
    let result = unsafe { __real_clock_gettime(clock, time) };
    if is_monotonic {
        idle::note(sys::coarse_now());
    }
    result
}

/// Refuses mimalloc's `prctl` calls, such as names for mappings: a seccomp filter may forbid them.
#[unsafe(no_mangle)]
extern "C" fn __wrap_prctl(_option: c_int) -> c_int {
    -1
}

/// From the compiler's library, which isn't linked.
#[unsafe(no_mangle)]
extern "C" fn __popcountdi2(ones: u64) -> c_int {
    cast::int(ones.count_ones() as usize)
}

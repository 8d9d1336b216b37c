//! What mimalloc needs to learn of a thread's end. Before glibc 2.34 these
//! functions are in libpthread, which a program without threads does not have:
//! such a program has no thread whose end could be missed.
#![expect(unsafe_code, reason = "exports functions and refers to libc's weakly")]

use core::ffi::{c_int, c_void};

use hugetools_pages::{weak_function, weak_word};

// By these names the linker's `--wrap` gives libc's own functions.
weak_word!(hugetools_key_create = "__real_pthread_key_create");
weak_word!(hugetools_key_delete = "__real_pthread_key_delete");
weak_word!(hugetools_setspecific = "__real_pthread_setspecific");

type Key = libc::pthread_key_t;
type Destructor = Option<extern "C" fn(*mut c_void)>;

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_key_create(key: *mut Key, destructor: Destructor) -> c_int {
    type Create = extern "C" fn(*mut Key, Destructor) -> c_int;
    match weak_function!(hugetools_key_create as Create) {
        Some(create) => create(key, destructor),
        None => libc::ENOSYS,
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
        Some(set) => set(key, value),
        None => libc::ENOSYS,
    }
}

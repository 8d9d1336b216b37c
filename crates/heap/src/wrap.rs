//! What mimalloc asks of the system itself, by the linker's `--wrap`: mapping
//! blocks that are too large for its arenas, and its locks. See [`crate::thread`]
//! for its threads' ends.
#![expect(unsafe_code, reason = "exports functions that take addresses")]

use core::ffi::{c_int, c_uint, c_void};

use hugetools_pages::lock::Lock;
use hugetools_pages::{bits, register, sys};

use crate::{arena, state};

/// Whether a mapping holds blocks of the program, not tables of mimalloc.
fn is_block(len: usize, prot: c_int, fd: c_int) -> bool {
    fd == -1
        && prot == libc::PROT_READ | libc::PROT_WRITE
        && state::is_ready()
        && len >= arena::layout().unit
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_mmap(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let block = match is_block(len, prot, fd) {
        true => arena::map_block(len),
        false => None,
    };
    // SAFETY: mimalloc's own mapping.
    let mapping = || unsafe { sys::mmap(addr as usize, len, prot, flags, fd, bits::word(offset)) };
    sys::c_address(block.unwrap_or_else(mapping))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_munmap(addr: *mut c_void, len: usize) -> c_int {
    if arena::unmap_block(addr as usize, len) {
        return 0;
    }
    // SAFETY: mimalloc's own mapping.
    sys::c_result(unsafe { sys::munmap(addr as usize, len) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    if register::window_at(addr as usize).is_some() {
        return 0;
    }
    // SAFETY: mimalloc's own mapping.
    sys::c_result(unsafe { sys::mprotect(addr as usize, len, prot) })
}

/// Advice on our own memory is not mimalloc's to give: what it drops from a
/// huge page could not be touched again safely.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    if register::window_at(addr as usize).is_some() {
        return 0;
    }
    // SAFETY: mimalloc's own mapping.
    sys::c_result(unsafe { sys::madvise(addr as usize, len, advice) })
}

/// mimalloc only names its memory, or turns transparent huge pages off.
#[unsafe(no_mangle)]
extern "C" fn __wrap_prctl(_option: c_int) -> c_int {
    -1
}

/// mimalloc only sleeps while it spins.
#[unsafe(no_mangle)]
extern "C" fn __wrap_sleep(_seconds: c_uint) -> c_uint {
    sys::yield_now();
    0
}

/// A lock of mimalloc's. Whoever holds one is inside of the gate, so that a
/// fork finds all of them free.
///
/// # Safety
/// `mutex` must be one of mimalloc's, whose first word is ours.
unsafe fn lock_of<'a>(mutex: *mut libc::pthread_mutex_t) -> &'a Lock {
    // SAFETY: a mutex is larger and at least as aligned as a word, and starts
    // as zero, which is a free lock.
    unsafe { &*mutex.cast::<Lock>() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    register::GATE.enter();
    // SAFETY: one of mimalloc's.
    unsafe { lock_of(mutex) }.take();
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: one of mimalloc's.
    unsafe { lock_of(mutex) }.release();
    register::GATE.leave();
    0
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_mutex_destroy(_mutex: *mut libc::pthread_mutex_t) -> c_int {
    0
}

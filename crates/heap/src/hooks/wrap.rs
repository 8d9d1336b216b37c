//! What mimalloc asks of the system itself, by the linker's `--wrap`: mapping
//! blocks that are too large for its arenas, and its locks. See [`crate::hooks::thread`]
//! for its threads' ends.
#![expect(unsafe_code, reason = "exports functions that take addresses")]

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::AtomicU32;

use crate::large_blocks::mapped;
use crate::mimalloc::layout;
use hugetools_pages::extent::index;
use hugetools_pages::rt::fork_gate;
use hugetools_pages::rt::lock::Lock;
use hugetools_pages::sys::{self, Filter, cast};

use crate::mimalloc::state;

/// Whether a mapping holds blocks of the program, not tables of mimalloc.
fn is_block(len: usize, prot: c_int, fd: c_int) -> bool {
    fd == -1
        && prot == libc::PROT_READ | libc::PROT_WRITE
        && state::is_ready()
        && len >= layout::layout().unit
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
        true => mapped::map_block(len),
        false => None,
    };
    // SAFETY: mimalloc's own mapping.
    let mapping = || unsafe { sys::mmap(addr as usize, len, prot, flags, fd, cast::word(offset)) };
    sys::c_address(block.unwrap_or_else(|| mapping().inspect(|&table| keep_sparse(table, len))))
}

/// Keeps a large table of mimalloc on base pages, where huge ones come unasked: a few
/// entries are touched, each of which would bring a whole huge page.
fn keep_sparse(table: usize, len: usize) {
    const LARGE: usize = 1 << 20;
    if len >= LARGE {
        // SAFETY: mapped just now; the advice changes no contents. Where there are no
        // transparent huge pages it fails, and nothing is lost.
        let _ = unsafe { sys::madvise(table, len, libc::MADV_NOHUGEPAGE) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_munmap(addr: *mut c_void, len: usize) -> c_int {
    if mapped::unmap_block(addr as usize, len) {
        return 0;
    }
    // SAFETY: mimalloc's own mapping.
    sys::c_result(unsafe { sys::munmap(addr as usize, len) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    if index::extent_at(addr as usize).is_some() {
        return 0;
    }
    // SAFETY: mimalloc's own mapping.
    sys::c_result(unsafe { sys::mprotect(addr as usize, len, prot) })
}

/// What the C compiler's own library would have, which is not linked: mimalloc
/// counts bits, and not each processor has an instruction for that. Rust's library
/// has it, too, since some version after 1.85.
#[unsafe(no_mangle)]
extern "C" fn __popcountdi2(ones: u64) -> c_int {
    cast::int(ones.count_ones() as usize)
}

/// Advice on our own memory is not mimalloc's to give: what it drops from a
/// huge page could not be touched again safely.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    if index::extent_at(addr as usize).is_some() {
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

/// mimalloc asks for the memory node of the processor, and reads files of the
/// kernel's at its start. What it wants random numbers for need not be safe from
/// anybody: they are made here. `errno` stays as it is.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let may = match sys::filter() {
        Filter::None => true,
        Filter::Inherited => number != libc::SYS_getcpu,
        Filter::Own => false,
    };
    if number == libc::SYS_getrandom {
        // SAFETY: mimalloc's buffer, of `b` bytes.
        unsafe { fill(a as *mut u8, b) };
        return cast::long(b);
    }
    // SAFETY: a call of mimalloc's.
    let result = may.then(|| unsafe { sys::any_call(number, [a, b, c, d, e, f]) });
    result.and_then(sys::Result::ok).map_or(-1, cast::long)
}

/// Fills a buffer with numbers that follow from the time and from where the
/// kernel has put things.
///
/// # Safety
/// The buffer must be writable.
unsafe fn fill(buffer: *mut u8, len: usize) {
    let mut state = sys::now() ^ (sys::thread_name() as u64) << 20 ^ buffer as u64;
    for at in 0..len {
        // A step of Marsaglia's xorshift, which never ends at 0.
        state |= 1;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let byte = state.to_le_bytes()[3];
        let place = buffer.wrapping_add(at);
        // SAFETY: as the caller says.
        unsafe { place.write(byte) };
    }
}

/// How much memory there is: mimalloc takes what it finds then for usual.
#[unsafe(no_mangle)]
extern "C" fn __wrap_sysinfo(_info: *mut c_void) -> c_int {
    -1
}

/// The size of a page, or how many there are.
#[unsafe(no_mangle)]
extern "C" fn __wrap_sysconf(name: c_int) -> c_long {
    match name {
        libc::_SC_PAGESIZE => cast::long(sys::page_size()),
        _ => -1,
    }
}

/// mimalloc only sleeps while it spins: it waits for another thread, which may
/// be of a lower priority and must get the processor.
#[unsafe(no_mangle)]
extern "C" fn __wrap_sleep(_seconds: c_uint) -> c_uint {
    static NOBODY_WAKES: AtomicU32 = AtomicU32::new(0);
    sys::futex_wait_for(&NOBODY_WAKES, 0, 1);
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
    fork_gate::GATE.enter();
    // SAFETY: one of mimalloc's.
    unsafe { lock_of(mutex) }.take();
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: one of mimalloc's.
    unsafe { lock_of(mutex) }.release();
    fork_gate::GATE.leave();
    0
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_mutex_destroy(_mutex: *mut libc::pthread_mutex_t) -> c_int {
    0
}

//! The functions of libc that are replaced. Each is a few lines: what is about
//! memory of ours is done here, everything else by whoever would have done it
//! without us.
//!
//! Here are those about memory, but for [`mod@mremap`]. [`reads`] fill buffers by system calls;
//! to [`answers`], [`about_files`], [`about_process`], [`times`] and [`transfers`] the kernel
//! writes what it knows; by [`messages`] and [`results`] it hands over what it then has no more.
//! [`streams`] read streams, [`sigmask`] is about blocked signals, by [`ends`] a program ends.
//!
//! **Invariants.** Each has libc's name, arguments and results, and leaves `errno` alone
//! where it succeeds. It can be called at any time: before our start, in a signal
//! handler, in a child of `vfork`.
//!
//! **Locks.** None is held where the next function is called.
//!
//! **At a fork.** A call that changes memory of ours ends before the fork begins; see
//! `hugetools_pages::vmops`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_uint, c_ulong, c_void};

use hugetools_pages::extent::mlocked;
use hugetools_pages::migrate::mbind::Wanted;
use hugetools_pages::policy::own_request;
use hugetools_pages::rt::weak;
use hugetools_pages::sys::{self, Errno, cast};
use hugetools_pages::vmops::{
    self, anon, library_text, map_file, map_shared, mbind as policy, own_code,
};

use crate::kernel_writes::{mlock, populate};
use crate::next::{self, Way};
use crate::rt::marker;
use crate::{program_segments, signals, sysv_shm};

pub mod about_files;
pub mod about_process;
pub mod answers;
pub mod ends;
mod fit;
pub mod messages;
pub mod mremap;
pub mod reads;
pub mod results;
pub mod sbrk;
pub mod sigmask;
pub mod streams;
pub mod syscall;
pub mod threads;
pub mod times;
pub mod transfers;

/// `mmap(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    program_segments::watch();
    if let Some(pages) = map_shared::wants(addr as usize, len, prot, flags, offset) {
        return sys::c_address(map_shared::map(len, prot, flags, pages));
    }
    let call = anon::Call {
        addr: addr as usize,
        len,
        prot,
        flags,
    };
    let is_fixed = flags & libc::MAP_FIXED != 0;
    if is_fixed {
        // Before anything of ours goes there.
        wait_as_libc(addr as usize, len);
        let offset = cast::word(offset);
        let elsewhere = |added| vmops::try_elsewhere(&call, added, fd, offset);
        if let Err(error) = vmops::before_fixed(addr as usize, len, elsewhere) {
            return sys::c_address(Err(error));
        }
    }
    // SAFETY: as the caller says.
    let map = |addr, flags| unsafe { map_or_copy(addr, len, prot, flags, fd, offset) };
    let is_concerned = call.is_concerned();
    let at = match is_concerned {
        true => sys::c_address(anon::map(&call, |addr, flags| {
            sys::address(map(addr as *mut c_void, flags))
        })),
        false => map(addr, flags),
    };
    if is_fixed && at != libc::MAP_FAILED {
        vmops::after_fixed(addr as usize, len);
        if !is_concerned {
            anon::gone(addr as usize, len);
        }
    }
    if is_fixed && at == libc::MAP_FAILED {
        vmops::after_refused(addr as usize, len);
    }
    if at != libc::MAP_FAILED && map_file::is_concerned(len, prot, flags) {
        map_file::mapped(at as usize, len, fd);
    }
    at
}

/// What the next `mmap` gives, or where that takes whole huge pages only, a copy.
///
/// # Safety
/// As for `mmap`.
unsafe fn map_or_copy(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let before = sys::errno();
    // SAFETY: as the caller says.
    let call = || sys::address(unsafe { next::mmap(addr, len, prot, flags, fd, offset) });
    let at = sys::c_address(own_request::map(len, prot, flags, call));
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    if at != libc::MAP_FAILED || !own_code::is_concerned(prot, flags, offset) {
        return at;
    }
    // SAFETY: as the caller says.
    match unsafe { own_code::map(addr as usize, len, prot, fd, offset) } {
        None => at,
        Some(copy) => {
            sys::set_errno(before);
            copy as *mut c_void
        }
    }
}

/// `mmap(2)`, by the name for large files.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe { mmap(addr, len, prot, flags, fd, offset) }
}

/// `munmap(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(addr: *mut c_void, len: usize) -> c_int {
    wait_as_libc(addr as usize, len);
    let result = match vmops::munmap(addr as usize, len) {
        Some(result) => sys::c_result(result),
        // SAFETY: as the caller says.
        None => unsafe { next::munmap(addr, len) },
    };
    if result == 0 {
        anon::gone(addr as usize, len);
    }
    result
}

/// Before shared memory goes otherwise than by libc: musl's functions wait for threads that
/// have unlocked something there, and are about to wake who waits for it.
fn wait_as_libc(addr: usize, len: usize) {
    if vmops::is_shared(addr, len) && !weak::is_glibc() {
        let before = sys::errno();
        // SAFETY: nothing is unmapped.
        unsafe { next::munmap(core::ptr::null_mut(), 0) };
        sys::set_errno(before);
    }
}

/// `mprotect(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    let (at, whole) = vmops::as_libc_has_it(addr as usize, len);
    match vmops::mprotect(at, whole, prot, None) {
        Some(result) => sys::c_result(result),
        None => {
            // SAFETY: as the caller says.
            let call = || unsafe { next::mprotect(addr, len, prot) };
            let make_fit = || library_text::leave_pool(at, whole);
            anon_committed(addr, len, prot, fit::again_if_fit(call, make_fit))
        }
    }
}

/// `pkey_mprotect(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pkey_mprotect(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    key: c_int,
) -> c_int {
    match vmops::mprotect(addr as usize, len, prot, Some(key)) {
        Some(result) => sys::c_result(result),
        None => {
            // SAFETY: as the caller says.
            let call = || unsafe { next::pkey_mprotect(addr, len, prot, key) };
            let make_fit = || library_text::leave_pool(addr as usize, len);
            anon_committed(addr, len, prot, fit::again_if_fit(call, make_fit))
        }
    }
}

/// After a call that makes the program's own memory accessible.
fn anon_committed(addr: *mut c_void, len: usize, prot: c_int, result: c_int) -> c_int {
    if result == 0 {
        anon::committed(addr as usize, len, prot);
    }
    result
}

/// `madvise(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { advise(Way::Name, addr, len, advice) }
}

/// `madvise(2)`, however it was asked for.
///
/// # Safety
/// As the system call says.
pub(crate) unsafe fn advise(way: Way, addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    let once = || match vmops::madvise(addr as usize, len, advice) {
        Some(result) => sys::c_result(result),
        // SAFETY: as the caller says.
        None => unsafe { next::madvise(way, addr, len, advice) },
    };
    let result = populate::made_again(addr, len, advice, once);
    if result == 0 {
        anon::advised(addr as usize, len, advice);
    }
    result
}

/// `process_madvise(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn process_madvise(
    process: c_int,
    ranges: *const libc::iovec,
    count: usize,
    advice: c_int,
    flags: c_uint,
) -> isize {
    // SAFETY: as the caller says.
    unsafe { advise_process(Way::Name, process, ranges, count, advice, flags) }
}

/// `process_madvise(2)`, which may be about this very process.
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn advise_process(
    way: Way,
    process: c_int,
    ranges: *const libc::iovec,
    count: usize,
    advice: c_int,
    flags: c_uint,
) -> isize {
    let before = sys::errno();
    // SAFETY: as the caller says.
    let call = || unsafe { next::process_madvise(way, process, ranges, count, advice, flags) };
    let result = call();
    // With other flags, or more of them, it has not looked at the list at all.
    let was_read = flags == 0 && (1..=1024).contains(&count);
    if result != -1 || sys::errno() != Errno(libc::EINVAL) || !was_read {
        return result;
    }
    // SAFETY: as the caller says.
    let ranges = unsafe { core::slice::from_raw_parts(ranges, count) };
    let fit = |range: &libc::iovec| vmops::make_fit(range.iov_base as usize, range.iov_len);
    match ranges.iter().filter(|range| fit(range)).count() {
        0 => result,
        _ => {
            sys::set_errno(before);
            call()
        }
    }
}

/// `posix_madvise(3)`, whose advice is never more than a hint.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    match vmops::is_hint(addr as usize, len) && (0..=4).contains(&advice) {
        true => 0,
        // SAFETY: as the caller says.
        false => unsafe { next::posix_madvise(addr, len, advice) },
    }
}

/// `mlock(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock(addr: *const c_void, len: usize) -> c_int {
    // SAFETY: as the caller says.
    let result = mlock::made_again(addr, len, || unsafe { next::mlock(addr, len) });
    if result == 0 {
        vmops::locked(addr as usize, len);
    }
    result
}

/// `mlock2(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mlock2(addr: *const c_void, len: usize, flags: c_uint) -> c_int {
    // SAFETY: as the caller says.
    let result = mlock::made_again(addr, len, || unsafe { next::mlock2(addr, len, flags) });
    if result == 0 {
        vmops::locked(addr as usize, len);
    }
    result
}

/// `munlock(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munlock(addr: *const c_void, len: usize) -> c_int {
    // SAFETY: as the caller says.
    let result = unsafe { next::munlock(addr, len) };
    if result == 0 {
        vmops::unlocked(addr as usize, len);
    }
    result
}

/// `mlockall(2)`
#[unsafe(no_mangle)]
pub extern "C" fn mlockall(flags: c_int) -> c_int {
    if flags & libc::MCL_FUTURE != 0 && flags & libc::MCL_CURRENT == 0 && marker::has_heap() {
        // What the heap has for itself is not to count: plainly there is none of it.
        let before = sys::errno();
        // SAFETY: asks for a block.
        let block = core::hint::black_box(unsafe { libc::malloc(1) });
        // SAFETY: nobody else has it.
        unsafe { libc::free(block) };
        sys::set_errno(before);
    }
    let result = next::mlockall(flags);
    if result == 0 {
        vmops::all_locked(flags);
    }
    result
}

/// `munlockall(2)`
#[unsafe(no_mangle)]
pub extern "C" fn munlockall() -> c_int {
    let result = next::munlockall();
    if result == 0 {
        mlocked::forget_all();
    }
    result
}

/// `mbind(2)`, which libnuma has.
///
/// # Safety
/// As libnuma's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbind(
    addr: *mut c_void,
    len: c_ulong,
    mode: c_int,
    mask: *const c_ulong,
    maxnode: c_ulong,
    flags: u32,
) -> i64 {
    let (Ok(len), Ok(max)) = (usize::try_from(len), usize::try_from(maxnode)) else {
        return i64::from(sys::c_result(Err(Errno(libc::EINVAL))));
    };
    let wanted = Wanted {
        mode: cast::extended(mode),
        mask: mask as usize,
        max,
        flags: flags as usize,
    };
    // SAFETY: as the caller says.
    i64::from(unsafe { bind(addr as usize, len, wanted) })
}

/// `mbind(2)`
///
/// # Safety
/// As the system call says.
pub(crate) unsafe fn bind(addr: usize, len: usize, wanted: Wanted) -> c_int {
    // SAFETY: as the caller says.
    sys::c_result(unsafe { policy::mbind(addr, len, wanted) })
}

/// `shmget(2)`
#[unsafe(no_mangle)]
pub extern "C" fn shmget(key: libc::key_t, size: usize, flags: c_int) -> c_int {
    sysv_shm::shmget(Way::Name, key, size, flags)
}

/// `shmat(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe { sysv_shm::shmat(Way::Name, id, addr, flags) }
}

/// `shmdt(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmdt(addr: *const c_void) -> c_int {
    // SAFETY: as the caller says.
    unsafe { sysv_shm::shmdt(addr) }
}

/// `shmctl(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmctl(id: c_int, command: c_int, at: *mut c_void) -> c_int {
    // SAFETY: as the caller says.
    unsafe { sysv_shm::shmctl(Way::Name, id, command, at) }
}

/// `sigaction(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { signals::sigaction(signal, new, old) }
}

/// `signal(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, function: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: as the caller says.
    unsafe { signals::signal(signal, function, false) }
}

/// What `signal(2)` is called in programs for strict standards.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(
    signal: c_int,
    function: libc::sighandler_t,
) -> libc::sighandler_t {
    // SAFETY: as the caller says.
    unsafe { signals::signal(signal, function, true) }
}

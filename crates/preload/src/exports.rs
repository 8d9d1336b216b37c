//! The functions of libc that are replaced. Each is a few lines: what is about
//! memory of ours is done here, everything else by whoever would have done it
//! without us.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_ulong, c_void};

use hugetools_pages::bits;
use hugetools_pages::sys::{self, Errno};
use hugetools_pages::wanted::Wanted;

use crate::{change, map, next, own, policy, segment, segments, signals};

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
    segments::watch();
    if let Some(pages) = map::wants(addr as usize, len, prot, flags) {
        return sys::c_address(map::map(len, prot, flags, pages));
    }
    if flags & libc::MAP_FIXED != 0 {
        own::before_change(addr as usize, len);
        if let Err(error) = change::make_way(addr as usize, len) {
            return sys::c_address(Err(error));
        }
    }
    // SAFETY: as the caller says.
    unsafe { next::mmap(addr, len, prot, flags, fd, offset) }
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
    own::before_change(addr as usize, len);
    match change::concerns(addr as usize, len) {
        true => sys::c_result(change::munmap(addr as usize, len)),
        // SAFETY: as the caller says.
        false => unsafe { next::munmap(addr, len) },
    }
}

/// `mprotect(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    own::before_change(addr as usize, len);
    match change::concerns(addr as usize, len) {
        true => sys::c_result(change::mprotect(addr as usize, len, prot)),
        // SAFETY: as the caller says.
        false => unsafe { next::mprotect(addr, len, prot) },
    }
}

/// `madvise(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    own::before_madvise(addr as usize, len, advice);
    match change::concerns(addr as usize, len) {
        true => sys::c_result(change::madvise(addr as usize, len, advice)),
        // SAFETY: as the caller says.
        false => unsafe { next::madvise(addr, len, advice) },
    }
}

/// `mremap(2)`. The last argument is read only where the flags say that there
/// is one.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    addr: *mut c_void,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: *mut c_void,
) -> *mut c_void {
    const MREMAP_DONTUNMAP: c_int = 4;
    let has_new = flags & (libc::MREMAP_FIXED | MREMAP_DONTUNMAP) != 0;
    let new = if has_new { new_addr as usize } else { 0 };
    own::before_change(addr as usize, old_len);
    if flags & libc::MREMAP_FIXED != 0 {
        own::before_change(new, new_len);
    }
    let concerns = change::concerns(addr as usize, old_len)
        || flags & libc::MREMAP_FIXED != 0 && change::concerns(new, new_len);
    match concerns {
        true => sys::c_address(change::mremap(addr as usize, old_len, new_len, flags, new)),
        // SAFETY: as the caller says.
        false => unsafe { next::mremap(addr, old_len, new_len, flags, new_addr) },
    }
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
    let (Ok(len), Ok(maxnode)) = (usize::try_from(len), usize::try_from(maxnode)) else {
        return i64::from(sys::c_result(Err(Errno(libc::EINVAL))));
    };
    let wanted = Wanted {
        mode: bits::extended(mode),
        mask: mask as usize,
        max: maxnode,
        flags: flags as usize,
    };
    // SAFETY: as the caller says.
    let result = unsafe { policy::mbind(addr as usize, len, wanted) };
    i64::from(sys::c_result(result))
}

/// `shmget(2)`
#[unsafe(no_mangle)]
pub extern "C" fn shmget(key: libc::key_t, size: usize, flags: c_int) -> c_int {
    segment::shmget(key, size, flags)
}

/// `shmat(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe { segment::shmat(id, addr, flags) }
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

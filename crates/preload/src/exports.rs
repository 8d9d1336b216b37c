//! Replacements of libc's functions. Calls on our memory are handled here; others go to the next
//! library.
//!
//! This file has the memory calls, except `mremap` and `sbrk`. `ends`: the end of a program;
//! `syscall`: calls by number. More replacements: `sysv_shm`, `process`, `dlopen`.
//!
//! **Invariants.** Each has libc's name, arguments, results and safety conditions, and keeps
//! `errno` on success. It may be called at any time: before our constructor, in a signal handler,
//! in a child of `vfork`.
//!
//! **Locks.** None is held while the next function runs.
//!
//! **At a fork.** A call that changes memory of ours ends before the fork.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_uint, c_ulong, c_void};

use hugetools_pages::extent::mlocked;
use hugetools_pages::sys::{self, Errno, cast};
use hugetools_pages::vmops::{self, anon, map_file, map_shared};

use crate::next;

mod ends;
mod mremap;
mod sbrk;
mod syscall;

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    if let Some(pages) = map_shared::pages_for(addr as usize, len, prot, flags, fd, offset) {
        let flags = flags | libc::MAP_ANONYMOUS;
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
        if let Err(error) = vmops::before_fixed(addr as usize, len) {
            return sys::c_address(Err(error));
        }
    }
    // SAFETY: upheld by the caller.
    let map = |addr, flags| unsafe { next::mmap(addr, len, prot, flags, fd, offset) };
    let is_eligible = call.is_eligible();
    let at = match is_eligible {
        true => sys::c_address(anon::map(&call, |addr, flags| {
            sys::mmap_result(map(addr as *mut c_void, flags))
        })),
        false => map(addr, flags),
    };
    if at != libc::MAP_FAILED {
        vmops::after_mapping(at as usize, len);
        if is_fixed && !is_eligible {
            anon::note_unmapped(addr as usize, len);
        }
    }
    if at != libc::MAP_FAILED && map_file::is_eligible(len, prot, flags) {
        map_file::mapped(at as usize, len, fd);
    }
    at
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: upheld by the caller.
    unsafe { mmap(addr, len, prot, flags, fd, offset) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(addr: *mut c_void, len: usize) -> c_int {
    let result = match vmops::munmap(addr as usize, len) {
        Some(result) => sys::c_result(result),
        // SAFETY: upheld by the caller.
        None => unsafe { next::munmap(addr, len) },
    };
    if result == 0 {
        anon::note_unmapped(addr as usize, len);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    let (at, whole) = vmops::mprotect_range(addr as usize, len);
    match vmops::mprotect(at, whole, prot, None) {
        Some(result) => sys::c_result(result),
        // SAFETY: upheld by the caller.
        None => unsafe { next::mprotect(addr, len, prot) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pkey_mprotect(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    key: c_int,
) -> c_int {
    match vmops::mprotect(addr as usize, len, prot, Some(key)) {
        Some(result) => sys::c_result(result),
        // SAFETY: upheld by the caller.
        None => unsafe { next::pkey_mprotect(addr, len, prot, key) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    let result = match vmops::madvise(addr as usize, len, advice) {
        Some(result) => sys::c_result(result),
        // SAFETY: upheld by the caller.
        None => unsafe { next::madvise(addr, len, advice) },
    };
    if result == 0 {
        anon::note_advice(addr as usize, len, advice);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mlock(addr: *const c_void, len: usize) -> c_int {
    // SAFETY: upheld by the caller.
    let result = unsafe { next::mlock(addr, len) };
    if result == 0 {
        vmops::locked(addr as usize, len);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mlock2(addr: *const c_void, len: usize, flags: c_uint) -> c_int {
    // SAFETY: upheld by the caller.
    let result = unsafe { next::mlock2(addr, len, flags) };
    if result == 0 {
        vmops::locked(addr as usize, len);
    }
    result
}

#[unsafe(no_mangle)]
extern "C" fn mlockall(flags: c_int) -> c_int {
    let result = next::mlockall(flags);
    if result == 0 {
        mlocked::all_locked(flags);
    }
    result
}

#[unsafe(no_mangle)]
extern "C" fn munlockall() -> c_int {
    let result = next::munlockall();
    if result == 0 {
        mlocked::clear();
    }
    result
}

/// `mbind(2)`, exported by libnuma.
#[unsafe(no_mangle)]
unsafe extern "C" fn mbind(
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
    let (mode, mask) = (cast::extended(mode), (mask as usize, max));
    // SAFETY: upheld by the caller.
    let result = unsafe { vmops::mbind(addr as usize, len, mode, mask, flags as usize) };
    i64::from(sys::c_result(result))
}

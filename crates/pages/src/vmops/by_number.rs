//! Calls on memory that a program makes by their numbers, through `syscall(2)`.
#![expect(unsafe_code, reason = "maps memory for the program")]

use core::ffi::{c_int, c_long};

use super::remap::Call;
use super::{anon, attach, map_shared, mprotect, munmap};
use crate::extent::mlocked;
use crate::sys::cast::int;
use crate::sys::{self, Errno, Result};

/// Does a call that is about memory of ours; `None` for all others, which go on
/// as they are.
pub fn call(number: c_long, args: [usize; 6]) -> Option<Result<usize>> {
    let [a, b, c, d, e, _] = args;
    let result = match number {
        libc::SYS_munmap => munmap(a, b),
        libc::SYS_mprotect => mprotect(a, b, int(c), None),
        sys::PKEY_MPROTECT => mprotect(a, b, int(c), Some(int(d))),
        libc::SYS_mremap => return moved(&move_of([a, b, c, d, e])),
        _ => return mapping_or_segment(number, args),
    };
    result.map(|result| result.map(|()| 0))
}

fn moved(call: &Call) -> Option<Result<usize>> {
    let done = super::mremap(call);
    match done {
        Some(Err(Errno(libc::EFAULT))) => super::in_parts(call).or(done),
        _ => done,
    }
}

/// After a call that the kernel has refused; see [`super::after_refused`].
pub fn refused(number: c_long, [a, b, c, d, e, _]: [usize; 6]) {
    let is_fixed = int(d) & libc::MAP_FIXED != 0;
    match number {
        libc::SYS_mmap if is_fixed && !IN_MEMORY => super::after_refused(a, b),
        libc::SYS_mremap => super::refused(&move_of([a, b, c, d, e])),
        _ => {}
    }
}

/// Does a call that the kernel has refused with `EFAULT`, where only we are why.
pub fn in_parts(number: c_long, [a, b, c, d, e, _]: [usize; 6]) -> Option<Result<usize>> {
    let is_move = number == libc::SYS_mremap;
    is_move.then(|| super::in_parts(&move_of([a, b, c, d, e])))?
}

fn move_of([addr, old_len, new_len, flags, new_addr]: [usize; 5]) -> Call {
    let flags = int(flags);
    Call {
        addr,
        old_len,
        new_len,
        flags,
        new_addr,
    }
}

/// Those that make mappings, and those of System V.
fn mapping_or_segment(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> Option<Result<usize>> {
    match number {
        libc::SYS_mmap if !IN_MEMORY => {
            let (prot, flags) = (int(c), int(d));
            let offset = libc::off_t::from_ne_bytes(f.to_ne_bytes());
            if let Some(pages) = map_shared::wants(a, b, prot, flags, offset) {
                return Some(map_shared::map(b, prot, flags, pages));
            }
            let call = anon::Call {
                addr: a,
                len: b,
                prot,
                flags,
            };
            if flags & libc::MAP_FIXED != 0 {
                let elsewhere = |added| super::try_elsewhere(&call, added, int(e), f);
                if let Err(error) = super::before_fixed(a, b, elsewhere) {
                    return Some(Err(error));
                }
            }
            let large = call.is_concerned().then(|| map_large(&call, int(e), f));
            if let Some(Err(_)) = large {
                refused(number, [a, b, c, d, e, f]);
            }
            large
        }
        sys::SYS_SHMDT => attach::shmdt(a).map(|result| result.map(|()| 0)),
        _ => None,
    }
}

/// Makes a large mapping of the program's own.
fn map_large(call: &anon::Call, fd: c_int, offset: usize) -> Result<usize> {
    let anon::Call {
        addr,
        len,
        prot,
        flags,
    } = *call;
    // SAFETY: what the program asked for, where it asked for it.
    let at = anon::map(call, |addr, flags| unsafe {
        sys::mmap(addr, len, prot, flags, fd, offset)
    })?;
    if flags & libc::MAP_FIXED != 0 {
        super::after_fixed(addr, len);
    }
    Ok(at)
}

/// Whether `mmap` finds its arguments in memory, where they are not looked at.
const IN_MEMORY: bool = cfg!(target_arch = "s390x");

/// After a call that has succeeded.
pub fn note(number: c_long, [a, b, c, d, e, _]: [usize; 6], result: c_long) {
    let is_fixed = int(d) & libc::MAP_FIXED != 0;
    match number {
        libc::SYS_mmap if is_fixed && !IN_MEMORY => {
            super::after_fixed(a, b);
            anon::gone(a, b);
        }
        libc::SYS_munmap => anon::gone(a, b),
        libc::SYS_mremap => {
            let now = usize::from_ne_bytes(result.to_ne_bytes());
            super::moved(&move_of([a, b, c, d, e]), now);
        }
        libc::SYS_mprotect | sys::PKEY_MPROTECT => anon::committed(a, b, int(c)),
        libc::SYS_mlock | libc::SYS_mlock2 => super::locked(a, b),
        libc::SYS_munlock => super::unlocked(a, b),
        libc::SYS_mlockall => super::all_locked(int(a)),
        libc::SYS_munlockall => mlocked::forget_all(),
        _ => {}
    }
}

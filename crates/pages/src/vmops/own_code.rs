//! Code that a program maps once more from the file that its own lies in, which it finds
//! in `/proc/self/maps`: V8 does so with its built-in functions, and ends where it fails.
//!
//! A text that processes share lies in a file on a hugetlbfs, of which the kernel maps
//! whole huge pages only. Of what is asked for there, the program gets a copy.
#![expect(unsafe_code, reason = "fills a mapping of the program's")]

use core::ffi::c_int;

use crate::sys::{self, Errno};

/// Whether a call that failed may have been such a one.
pub fn is_concerned(prot: c_int, flags: c_int, offset: usize) -> bool {
    let is_code = prot & (libc::PROT_EXEC | libc::PROT_WRITE) == libc::PROT_EXEC;
    let is_fixed = flags == libc::MAP_PRIVATE | libc::MAP_FIXED;
    is_code && is_fixed && offset % 4096 == 0 && sys::errno() == Errno(libc::EINVAL)
}

/// Puts a copy of a part of a file of huge pages at an address. `None` for any other file,
/// and where it cannot be; then nothing has changed.
///
/// # Safety
/// What is at the address must be the caller's to replace.
pub unsafe fn map(addr: usize, len: usize, prot: c_int, fd: c_int, offset: usize) -> Option<usize> {
    if !sys::has_huge_blocks(fd) {
        return None;
    }
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory, wherever there is room.
    let copy = unsafe { sys::mmap(0, len, writable, flags, -1, 0) }.ok()?;
    // SAFETY: mapped above, of this length, and known to nobody.
    let filled = unsafe { fill(copy, len, fd, offset) };
    // SAFETY: likewise, and as the caller says.
    let moved = filled.and_then(|()| unsafe { put(copy, len, prot, addr) });
    if moved.is_none() {
        // SAFETY: likewise.
        let _ = unsafe { sys::munmap(copy, len) };
    }
    moved
}

/// Reads all of a part of a file.
///
/// # Safety
/// So much memory at the address must be the caller's.
unsafe fn fill(at: usize, len: usize, fd: c_int, offset: usize) -> Option<()> {
    // SAFETY: as the caller says.
    let buffer = unsafe { core::slice::from_raw_parts_mut(at as *mut u8, len) };
    let mut done = 0;
    while done < len {
        let read = sys::read_at(fd, buffer.get_mut(done..)?, offset + done);
        done += read.ok().filter(|read| *read > 0)?;
    }
    Some(())
}

/// Moves memory to where it is wanted, with the access that is wanted.
///
/// # Safety
/// Both ranges must be the caller's.
unsafe fn put(copy: usize, len: usize, prot: c_int, addr: usize) -> Option<usize> {
    // SAFETY: as the caller says.
    unsafe { sys::mprotect(copy, len, prot) }.ok()?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: as the caller says.
    unsafe { sys::mremap(copy, len, len, flags, addr) }.ok()
}

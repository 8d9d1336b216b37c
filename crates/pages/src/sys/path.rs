//! File systems, permissions, and descriptors that the program owns.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::{CStr, c_char, c_int};

use super::call::{Result, call, file_call, filled};
use crate::sys::cast::{extended, int, unsigned};

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// `f_type` of `statfs(2)`.
    pub kind: u64,
    /// Block size; the page size of a hugetlbfs.
    pub block_size: usize,
}

impl FileSystem {
    /// Whether it is a hugetlbfs.
    pub fn is_hugetlbfs(&self) -> bool {
        const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;
        self.kind == HUGETLBFS_MAGIC
    }

    fn of(state: &libc::statfs) -> FileSystem {
        FileSystem {
            kind: u64::try_from(state.f_type & 0xffff_ffff).unwrap_or(0),
            block_size: usize::try_from(state.f_bsize).unwrap_or(0),
        }
    }
}

/// `fstatfs(2)`.
pub(super) fn file_system_of(fd: c_int) -> Result<FileSystem> {
    // SAFETY: all bits zero are a valid state.
    let state = unsafe { filled(|state| file_call(libc::SYS_fstatfs, [extended(fd), state])) };
    state.map(|state| FileSystem::of(&state))
}

/// `statfs(2)`.
///
/// # Safety
/// `path` must be a C string, or an address that the kernel rejects.
pub unsafe fn file_system(path: *const c_char) -> Result<FileSystem> {
    // SAFETY: all bits zero are a valid state.
    let state = unsafe { filled(|state| call(libc::SYS_statfs, [path as usize, state])) };
    state.map(|state| FileSystem::of(&state))
}

/// Whether the real user may read, write and search a directory.
pub fn may_use(path: &CStr) -> bool {
    let mode = extended(libc::R_OK | libc::W_OK | libc::X_OK);
    let (dir, path) = (extended(libc::AT_FDCWD), path.as_ptr() as usize);
    call(libc::SYS_faccessat, [dir, path, mode]).is_ok()
}

/// `open(2)` for a descriptor that the program owns; doesn't add `O_CLOEXEC`.
pub fn open_inherited(path: &CStr, flags: c_int, mode: usize) -> Result<c_int> {
    let (dir, path) = (extended(libc::AT_FDCWD), path.as_ptr() as usize);
    call(libc::SYS_openat, [dir, path, extended(flags), mode]).map(int)
}

/// `memfd_create(2)` for a descriptor that the program owns.
pub fn memfd_create(name: &CStr, flags: c_int) -> Result<c_int> {
    let flags = unsigned(flags) as usize;
    call(libc::SYS_memfd_create, [name.as_ptr() as usize, flags]).map(int)
}

/// `unlink(2)`.
pub fn unlink(path: &CStr) -> Result<()> {
    let (dir, path) = (extended(libc::AT_FDCWD), path.as_ptr() as usize);
    call(libc::SYS_unlinkat, [dir, path, 0]).map(drop)
}

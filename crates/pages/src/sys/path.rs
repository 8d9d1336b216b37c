//! File systems, permissions, and files that outlive an `exec`.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::{CStr, c_char, c_int};

use super::call::{Result, call};
use crate::sys::cast::{extended, int, unsigned};

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// `f_type` of `statfs(2)`.
    pub kind: u64,
    /// Block size; the page size of a hugetlbfs.
    pub block: usize,
}

/// `statfs(2)`.
///
/// # Safety
/// `path` must be a C string, or an address that the kernel rejects.
pub unsafe fn file_system(path: *const c_char) -> Result<FileSystem> {
    let mut state = core::mem::MaybeUninit::<libc::statfs>::zeroed();
    let args = [path as usize, state.as_mut_ptr() as usize, 0, 0, 0, 0];
    call(libc::SYS_statfs, args)?;
    // SAFETY: all bits zero are a valid state, and the kernel has filled it.
    let state = unsafe { state.assume_init() };
    Ok(FileSystem {
        kind: u64::try_from(state.f_type & 0xffff_ffff).unwrap_or(0),
        block: usize::try_from(state.f_bsize).unwrap_or(0),
    })
}

/// Whether the real user may read, write and search a directory.
pub fn may_use(path: &CStr) -> bool {
    let mode = libc::R_OK | libc::W_OK | libc::X_OK;
    let args = [
        extended(libc::AT_FDCWD),
        path.as_ptr() as usize,
        extended(mode),
        0,
        0,
        0,
    ];
    call(libc::SYS_faccessat, args).is_ok()
}

/// `open(2)` for a descriptor that the program keeps.
pub fn open_inherited(path: &CStr, flags: c_int, mode: usize) -> Result<c_int> {
    let args = [
        extended(libc::AT_FDCWD),
        path.as_ptr() as usize,
        extended(flags),
        mode,
        0,
        0,
    ];
    call(libc::SYS_openat, args).map(int)
}

/// `memfd_create(2)` for a descriptor that the program keeps.
pub fn memory_file(name: &CStr, flags: c_int) -> Result<c_int> {
    let flags = unsigned(flags) as usize;
    let args = [name.as_ptr() as usize, flags, 0, 0, 0, 0];
    call(libc::SYS_memfd_create, args).map(int)
}

/// `unlink(2)`.
pub fn unlink(path: &CStr) -> Result<()> {
    let args = [extended(libc::AT_FDCWD), path.as_ptr() as usize, 0, 0, 0, 0];
    call(libc::SYS_unlinkat, args).map(drop)
}

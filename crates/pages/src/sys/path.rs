//! File systems, permissions, and files that outlive an `exec`.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::{CStr, c_char, c_int};

use super::call::{Errno, Result, call, file_call};
use super::file::stat;
use super::process::{getgid, getuid};
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

/// Whether nothing exists at a path; `false` if unknown.
pub fn is_gone(path: &CStr) -> bool {
    let mode = extended(libc::F_OK);
    let args = [
        extended(libc::AT_FDCWD),
        path.as_ptr() as usize,
        mode,
        0,
        0,
        0,
    ];
    matches!(
        call(libc::SYS_faccessat, args),
        Err(Errno(libc::ENOENT | libc::ENOTDIR))
    )
}

/// Privileges that a program gains by its file: its loader ignores `LD_PRELOAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gains {
    /// Set-user-id.
    User,
    /// Set-group-id.
    Group,
    /// File capabilities.
    Capabilities,
}

/// Privileges that this process would gain by executing a file; `None` for none, for a file
/// it may not execute, or if unknown.
pub fn gains(path: &CStr) -> Option<Gains> {
    let file = stat(path)?;
    let is_file = file.st_mode & libc::S_IFMT == libc::S_IFREG;
    let has = |bits: libc::mode_t| file.st_mode & bits == bits;
    let found = if has(libc::S_ISUID) && file.st_uid != getuid() {
        Gains::User
    } else if has(libc::S_ISGID | libc::S_IXGRP) && file.st_gid != getgid() {
        Gains::Group
    } else if getuid() != 0 && has_capabilities(path) {
        Gains::Capabilities
    } else {
        return None;
    };
    let begins = is_file && may_execute(path) && !is_denied(path);
    begins.then_some(found)
}

fn may_execute(path: &CStr) -> bool {
    let name = path.as_ptr() as usize;
    let mode = extended(libc::X_OK);
    file_call(
        libc::SYS_faccessat,
        [extended(libc::AT_FDCWD), name, mode, 0, 0, 0],
    )
    .is_ok()
}

/// Whether the mount (nosuid) or the process (no_new_privs) rules out privileges.
fn is_denied(path: &CStr) -> bool {
    // ST_NOSUID of statfs(2).
    const NO_SET_USER_ID: u64 = 2;
    let mut state = core::mem::MaybeUninit::<libc::statfs64>::zeroed();
    let args = [
        path.as_ptr() as usize,
        state.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    let looked = file_call(libc::SYS_statfs, args);
    // SAFETY: all bits zero are a valid state, and the kernel has filled it.
    let flags = unsafe { state.assume_init() }.f_flags;
    let ruled_out = looked.is_ok() && u64::try_from(flags).unwrap_or(0) & NO_SET_USER_ID != 0;
    let option = libc::PR_GET_NO_NEW_PRIVS as usize;
    ruled_out || file_call(libc::SYS_prctl, [option, 0, 0, 0, 0, 0]) == Ok(1)
}

fn has_capabilities(path: &CStr) -> bool {
    let name = c"security.capability".as_ptr() as usize;
    let asked = file_call(
        libc::SYS_getxattr,
        [path.as_ptr() as usize, name, 0, 0, 0, 0],
    );
    asked.is_ok_and(|len| len > 0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Errno;

    #[test]
    fn file_systems_by_path() {
        const PROC: u64 = 0x9fa0;
        let kind = |path: &CStr| {
            // SAFETY: a C string.
            unsafe { file_system(path.as_ptr()) }.map(|found| found.kind)
        };
        assert_eq!(kind(c"/proc"), Ok(PROC));
        assert_eq!(kind(c"/no/such/path"), Err(Errno(libc::ENOENT)));
        assert!(!may_use(c"/no/such/path"));
    }

    #[test]
    fn what_is_gained_by_a_file() {
        assert_eq!(gains(c"/no/such/path"), None);
        assert_eq!(gains(c"/bin/sh"), None);
        assert_eq!(gains(c"/"), None);
    }
}

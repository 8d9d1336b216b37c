//! Directories and the files in them.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::{CStr, c_int};
use core::mem::offset_of;

use super::call::{Result, call};
use super::file::{File, status};
use super::path;
use crate::sys::cast::extended;

/// An open directory.
#[derive(Debug)]
pub struct Dir(File);

/// Who may create files in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirAccess {
    /// The owner.
    pub uid: u32,
    /// Whether group or others may write.
    pub others_write: bool,
}

/// Identifies a file and the version of its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// Length in bytes.
    pub size: i64,
    /// `st_mtim` in nanoseconds.
    pub modified: i128,
    /// `st_ctim` in nanoseconds.
    pub changed: i128,
}

/// `mkdir(2)`.
pub fn make_dir(path: &CStr, mode: usize) -> Result<()> {
    let (dir, path) = (extended(libc::AT_FDCWD), path.as_ptr() as usize);
    call(libc::SYS_mkdirat, [dir, path, mode]).map(drop)
}

impl Dir {
    /// Opens a directory. Anything else, even a symbolic link to one, is `ENOTDIR`.
    pub fn open(path: &CStr) -> Result<Dir> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        File::open(path, flags).map(Dir)
    }

    /// Returns who may create files in it; `None` if `fstat(2)` fails.
    pub fn access(&self) -> Option<DirAccess> {
        let stat = status(self.0.fd())?;
        Some(DirAccess {
            uid: stat.st_uid,
            others_write: stat.st_mode & 0o022 != 0,
        })
    }

    /// Returns the huge page size of its hugetlbfs; `None` on other file systems.
    pub fn page_size(&self) -> Option<usize> {
        let found = path::file_system_of(self.0.fd()).ok()?;
        found.is_hugetlbfs().then_some(found.block_size)
    }

    /// Opens a file in it; a symbolic link is `ELOOP`. `O_CREAT` uses mode 0600.
    pub fn open_file(&self, name: &CStr, flags: c_int) -> Result<File> {
        File::open_at(self.0.fd(), name, flags | libc::O_NOFOLLOW, 0o600)
    }

    /// `rename(2)` of a file in it.
    pub fn rename(&self, from: &CStr, to: &CStr) -> Result<()> {
        let fd = extended(self.0.fd());
        let (from, to) = (from.as_ptr() as usize, to.as_ptr() as usize);
        call(libc::SYS_renameat2, [fd, from, fd, to, 0]).map(drop)
    }

    /// `unlink(2)` of a file in it.
    pub fn unlink(&self, name: &CStr) -> Result<()> {
        let args = [extended(self.0.fd()), name.as_ptr() as usize, 0];
        call(libc::SYS_unlinkat, args).map(drop)
    }

    /// Calls `visit` with each entry's name, also `.` and `..`; stops at a read error.
    pub fn for_each_name(&self, mut visit: impl FnMut(&CStr)) {
        let mut buffer = [0_u64; 512];
        loop {
            let (addr, len) = (buffer.as_mut_ptr() as usize, size_of_val(&buffer));
            let read = call(libc::SYS_getdents64, [extended(self.0.fd()), addr, len]);
            let Some(filled) = read.ok().filter(|filled| *filled > 0) else {
                return;
            };
            // SAFETY: plain bytes; the kernel has filled `filled` of them.
            let bytes =
                unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), filled) };
            parse_entries(bytes, &mut visit);
        }
    }
}

/// Calls `visit` with each name in a buffer of `getdents64(2)`.
fn parse_entries(mut bytes: &[u8], visit: &mut impl FnMut(&CStr)) {
    const LEN: usize = offset_of!(libc::dirent64, d_reclen);
    const NAME: usize = offset_of!(libc::dirent64, d_name);
    while let Some(len) = bytes.get(LEN..LEN + 2) {
        let len = usize::from(u16::from_ne_bytes([len[0], len[1]]));
        let Some((entry, rest)) = bytes.split_at_checked(len).filter(|_| len > NAME) else {
            return;
        };
        if let Ok(name) = CStr::from_bytes_until_nul(&entry[NAME..]) {
            visit(name);
        }
        bytes = rest;
    }
}

impl File {
    /// Returns the file's version; `None` if `fstat(2)` fails.
    pub fn version(&self) -> Option<FileVersion> {
        let stat = status(self.fd())?;
        let time = |seconds: i64, nanoseconds: i64| {
            i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
        };
        Some(FileVersion {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
        })
    }

    /// Returns the owner's UID; `None` if `fstat(2)` fails.
    pub fn owner(&self) -> Option<u32> {
        status(self.fd()).map(|stat| stat.st_uid)
    }

    /// Locks the file until it is closed; `EAGAIN` while another open file holds the lock.
    pub fn try_lock(&self) -> Result<()> {
        let operation = extended(libc::LOCK_EX | libc::LOCK_NB);
        call(libc::SYS_flock, [extended(self.fd()), operation]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Errno;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_symbolic_link_to_a_directory_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        let link = CString::new(link.as_os_str().as_bytes()).unwrap();
        assert_eq!(Dir::open(&link).unwrap_err(), Errno(libc::ENOTDIR));
    }
}

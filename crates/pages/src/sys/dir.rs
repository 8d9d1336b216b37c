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

/// Owner of a directory, and whether others may create files in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Owner.
    pub uid: u32,
    /// Whether group or others may write.
    pub others_write: bool,
}

/// Identifies a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Length in bytes.
    pub size: i64,
    /// Last change of the contents, in nanoseconds.
    pub modified: i128,
    /// Last change of the inode, in nanoseconds.
    pub changed: i128,
}

/// `mkdir(2)`.
pub fn make_dir(path: &CStr, mode: usize) -> Result<()> {
    let (dir, path) = (extended(libc::AT_FDCWD), path.as_ptr() as usize);
    call(libc::SYS_mkdirat, [dir, path, mode]).map(drop)
}

impl Dir {
    /// Opens a directory; `ENOTDIR` for a symbolic link or another file.
    pub fn open(path: &CStr) -> Result<Dir> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        File::open(path, flags).map(Dir)
    }

    /// Owner and write permission.
    pub fn owner(&self) -> Option<Owner> {
        let stat = status(self.0.fd())?;
        Some(Owner {
            uid: stat.st_uid,
            others_write: stat.st_mode & 0o022 != 0,
        })
    }

    /// Page size if it lies on hugetlbfs.
    pub fn page_size(&self) -> Option<usize> {
        let found = path::file_system_of(self.0.fd()).ok()?;
        found.is_hugetlbfs().then_some(found.block)
    }

    /// Opens a file in it; symbolic links are refused. `O_CREAT` uses mode 0600.
    pub fn file(&self, name: &CStr, flags: c_int) -> Result<File> {
        File::open_at(self.0.fd(), name, flags | libc::O_NOFOLLOW, 0o600)
    }

    /// `rename(2)` within it.
    pub fn rename(&self, from: &CStr, to: &CStr) -> Result<()> {
        let fd = extended(self.0.fd());
        let (from, to) = (from.as_ptr() as usize, to.as_ptr() as usize);
        call(libc::SYS_renameat2, [fd, from, fd, to, 0]).map(drop)
    }

    /// `unlink(2)` in it.
    pub fn unlink(&self, name: &CStr) -> Result<()> {
        let args = [extended(self.0.fd()), name.as_ptr() as usize, 0];
        call(libc::SYS_unlinkat, args).map(drop)
    }

    /// Calls `visit` with each entry's name, as far as readable.
    pub fn each(&self, mut visit: impl FnMut(&CStr)) {
        let mut buffer = [0_u64; 512];
        loop {
            let (at, room) = (buffer.as_mut_ptr() as usize, size_of_val(&buffer));
            let read = call(libc::SYS_getdents64, [extended(self.0.fd()), at, room]);
            let Some(filled) = read.ok().filter(|filled| *filled > 0) else {
                return;
            };
            // SAFETY: plain bytes; the kernel has filled `filled` of them.
            let bytes =
                unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), filled) };
            each_entry(bytes, &mut visit);
        }
    }
}

/// Parses a buffer of `getdents64(2)`.
fn each_entry(mut bytes: &[u8], visit: &mut impl FnMut(&CStr)) {
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
    /// Identifies this version of the file.
    pub fn version(&self) -> Option<Version> {
        let stat = status(self.fd())?;
        let time = |seconds: i64, nanoseconds: i64| {
            i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
        };
        Some(Version {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
        })
    }

    /// Its owner.
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
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_link_is_no_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        let link = CString::new(link.as_os_str().as_bytes()).unwrap();
        assert_eq!(Dir::open(&link).unwrap_err(), Errno(libc::ENOTDIR));
        fs::remove_file(scratch.path().join("link")).unwrap();
    }
}

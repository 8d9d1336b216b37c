//! The directory of shared copies.

use core::ffi::CStr;
use core::fmt;

use crate::sys::{self, Dir, Errno};
use hugetools_kernfs::size_name::SizeName;

/// A directory on hugetlbfs that only this user and root can write: its files are executed.
#[derive(Debug)]
pub struct ShareDir {
    pub(super) dir: Dir,
    page_size: usize,
}

/// Why a directory can't hold shared code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareDirError {
    /// It can't be made or opened.
    Unreachable(Errno),
    /// It is on another file system.
    NotHugetlbfs,
    /// Its pages have this size instead of the requested one.
    PageSize(usize),
    /// It belongs to another user, with this ID.
    Owner(u32),
    /// Group or others may write.
    WritableByOthers,
}

impl ShareDir {
    /// Opens a directory; `size` is the required page size.
    pub fn open(path: &CStr, size: Option<usize>) -> Result<ShareDir, ShareDirError> {
        let dir = Dir::open(path).map_err(ShareDirError::Unreachable)?;
        let access = dir
            .access()
            .ok_or(ShareDirError::Unreachable(Errno(libc::EIO)))?;
        let page_size = dir.page_size().ok_or(ShareDirError::NotHugetlbfs)?;
        if size.is_some_and(|size| size != page_size) {
            return Err(ShareDirError::PageSize(page_size));
        }
        if access.uid != sys::geteuid() {
            return Err(ShareDirError::Owner(access.uid));
        }
        if access.others_write {
            return Err(ShareDirError::WritableByOthers);
        }
        Ok(ShareDir { dir, page_size })
    }

    /// Makes the directory with mode 0700 if necessary, and opens it.
    pub fn make(path: &CStr, size: Option<usize>) -> Result<ShareDir, ShareDirError> {
        match sys::make_dir(path, 0o700) {
            Ok(()) | Err(Errno(libc::EEXIST)) => ShareDir::open(path, size),
            Err(error) => Err(ShareDirError::Unreachable(error)),
        }
    }

    /// Its page size.
    pub fn page_size(&self) -> usize {
        self.page_size
    }
}

impl fmt::Display for ShareDirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ShareDirError::Unreachable(Errno(error)) => {
                write!(f, "cannot be opened (errno {error})")
            }
            ShareDirError::NotHugetlbfs => f.write_str("is not on a hugetlbfs"),
            ShareDirError::PageSize(size) => write!(f, "has pages of {}", SizeName(size)),
            ShareDirError::Owner(uid) => write!(f, "belongs to user {uid}"),
            ShareDirError::WritableByOthers => {
                f.write_str("can be written to by others (chmod go-w)")
            }
        }
    }
}

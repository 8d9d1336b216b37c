//! The directory of shared copies.

use core::ffi::CStr;
use core::fmt;

use crate::sys::{self, Dir, Errno};
use hugetools_kernfs::size_name::SizeName;

/// A directory on a hugetlbfs to which nobody but this user, and the
/// superuser, can write: what lies in it is executed.
#[derive(Debug)]
pub struct Shelf {
    pub(super) dir: Dir,
    page_size: usize,
}

/// Why a directory cannot be used for shared text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoShelf {
    /// It cannot be made or opened.
    Unreachable(Errno),
    /// It lies on another file system.
    NotHugetlbfs,
    /// Its hugetlbfs has pages of this size, where others were asked for.
    PageSize(usize),
    /// It is this other user's.
    Owner(u32),
    /// Group or others may write to it.
    WritableByOthers,
}

impl Shelf {
    /// Opens a directory; `size` is the page size that it must have, where one
    /// was asked for.
    ///
    /// # Errors
    /// See [`NoShelf`].
    pub fn open(path: &CStr, size: Option<usize>) -> Result<Shelf, NoShelf> {
        let dir = Dir::open(path).map_err(NoShelf::Unreachable)?;
        let owner = dir.owner().ok_or(NoShelf::Unreachable(Errno(libc::EIO)))?;
        let page_size = dir.page_size().ok_or(NoShelf::NotHugetlbfs)?;
        if size.is_some_and(|size| size != page_size) {
            return Err(NoShelf::PageSize(page_size));
        }
        if owner.uid != sys::geteuid() {
            return Err(NoShelf::Owner(owner.uid));
        }
        if owner.others_write {
            return Err(NoShelf::WritableByOthers);
        }
        Ok(Shelf { dir, page_size })
    }

    /// Makes the directory, of this user alone, where there is none; and opens it.
    ///
    /// # Errors
    /// See [`NoShelf`].
    pub fn make(path: &CStr, size: Option<usize>) -> Result<Shelf, NoShelf> {
        match sys::make_dir(path, 0o700) {
            Ok(()) | Err(Errno(libc::EEXIST)) => Shelf::open(path, size),
            Err(error) => Err(NoShelf::Unreachable(error)),
        }
    }

    /// The size of its pages.
    pub fn page_size(&self) -> usize {
        self.page_size
    }
}

impl fmt::Display for NoShelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NoShelf::Unreachable(Errno(error)) => write!(f, "cannot be opened (errno {error})"),
            NoShelf::NotHugetlbfs => f.write_str("is not on a hugetlbfs"),
            NoShelf::PageSize(size) => write!(f, "has pages of {}", SizeName(size)),
            NoShelf::Owner(uid) => write!(f, "is of user {uid}"),
            NoShelf::WritableByOthers => f.write_str("can be written to by others (chmod go-w)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn only_a_hugetlbfs_will_do() {
        let scratch = tempfile::tempdir().unwrap();
        let path = CString::new(scratch.path().join("shelf").as_os_str().as_bytes()).unwrap();
        let absent = Shelf::open(&path, None).unwrap_err();
        assert_eq!(absent, NoShelf::Unreachable(Errno(libc::ENOENT)));
        assert_eq!(absent.to_string(), "cannot be opened (errno 2)");
        let other = Shelf::make(&path, None).unwrap_err();
        assert_eq!(other, NoShelf::NotHugetlbfs);
        let below = CString::new(scratch.path().join("no/shelf").as_os_str().as_bytes()).unwrap();
        let unmade = Shelf::make(&below, None).unwrap_err();
        assert_eq!(unmade, NoShelf::Unreachable(Errno(libc::ENOENT)));
    }
}

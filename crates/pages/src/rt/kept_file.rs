//! A descriptor that we keep open. The program doesn't know it and may close it or reuse
//! its number.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::sys::{self, File};

/// A descriptor and the identity of its file. Set once, at the start.
#[derive(Debug)]
pub struct KeptFile {
    /// -1 for none.
    descriptor: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

impl KeptFile {
    /// No descriptor.
    pub const fn none() -> KeptFile {
        KeptFile {
            descriptor: AtomicI32::new(-1),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
        }
    }

    /// Keeps a descriptor; returns whether it is open.
    pub fn keep(&self, fd: c_int) -> bool {
        let identity = sys::identity(fd);
        if let Some((device, inode)) = identity {
            self.device.store(device, Ordering::Relaxed);
            self.inode.store(inode, Ordering::Relaxed);
            self.descriptor.store(fd, Ordering::Release);
        }
        identity.is_some()
    }

    /// Keeps a file of ours.
    pub fn keep_open(&self, file: File) {
        if self.keep(file.fd()) {
            file.into_fd();
        }
    }

    /// Returns the descriptor if it still refers to the same file.
    pub fn get(&self) -> Option<c_int> {
        let fd = self.descriptor.load(Ordering::Acquire);
        let then = (
            self.device.load(Ordering::Relaxed),
            self.inode.load(Ordering::Relaxed),
        );
        (fd >= 0 && sys::identity(fd) == Some(then)).then_some(fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_of_the_same_number_is_not_it() {
        let kept = KeptFile::none();
        assert_eq!(kept.get(), None);
        let fd = File::open(c"/dev/null", libc::O_RDONLY).unwrap().into_fd();
        assert!(kept.keep(fd));
        assert_eq!(kept.get(), Some(fd));
        let other = File::open(c"/dev/zero", libc::O_RDONLY).unwrap();
        assert_eq!(give(fd, other.fd()), fd);
        assert_eq!(kept.get(), None);
    }

    #[expect(unsafe_code, reason = "gives a number to another file")]
    fn give(fd: c_int, other: c_int) -> c_int {
        // SAFETY: both are open, and the first one is ours.
        unsafe { libc::dup2(other, fd) }
    }
}

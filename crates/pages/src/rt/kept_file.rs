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

    /// Keeps a file that we opened.
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

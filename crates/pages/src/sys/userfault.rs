//! Write protection by `userfaultfd(2)`: writers wait in the kernel until it ends.

use core::ops::Range;

use super::call::{Errno, NONE, READS, Result, WRITES, call, unfiltered_call};
use super::file::File;
use super::{seccomp_filter, valgrind};
use crate::sys::cast::{extended, int};

const API: u64 = 0xaa;
/// Write protection of hugetlb memory, since Linux 5.19.
const WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
const MODE_WP: u64 = 1 << 1;

const UFFDIO_API: usize = READS | WRITES | 0x0018_aa3f;
pub(super) const UFFDIO_UNREGISTER: usize = WRITES | 0x0010_aa01;
pub(super) const UFFDIO_WAKE: usize = WRITES | 0x0010_aa02;
pub(super) const UFFDIO_REGISTER: usize = READS | WRITES | 0x0020_aa00;
const UFFDIO_WRITEPROTECT: usize = READS | WRITES | 0x0018_aa06;
/// Opens a userfaultfd through `/dev/userfaultfd` (Linux 6.1).
const USERFAULTFD_IOC_NEW: usize = NONE | 0xaa00;

/// An open userfaultfd. Closing it ends all protection.
#[derive(Debug)]
pub struct WriteProtection(File);

impl WriteProtection {
    /// Opens a userfaultfd that also stops writes by the kernel. Needs `CAP_SYS_PTRACE`,
    /// `vm.unprivileged_userfaultfd` or `/dev/userfaultfd`.
    ///
    /// # Errors
    /// `EPERM`; `EINVAL` if the kernel lacks it for hugetlb memory; `ENOSYS` under valgrind.
    pub fn open() -> Result<WriteProtection> {
        open(WP_HUGETLBFS_SHMEM).map(WriteProtection)
    }

    /// Write-protects a range.
    pub fn protect(&self, range: &Range<usize>) -> Result<()> {
        let (start, len) = words(range);
        ioctl(&self.0, UFFDIO_REGISTER, &mut [start, len, MODE_WP, 0])?;
        ioctl(&self.0, UFFDIO_WRITEPROTECT, &mut [start, len, 1])
    }

    /// Ends the protection and wakes waiting writers.
    pub fn release(&self, range: &Range<usize>) {
        let (start, len) = words(range);
        let _ = ioctl(&self.0, UFFDIO_WRITEPROTECT, &mut [start, len, 0]);
    }

    /// Wakes writers of a range that has been replaced.
    pub fn wake_writers(&self, range: &Range<usize>) {
        let (start, len) = words(range);
        let _ = ioctl(&self.0, UFFDIO_WAKE, &mut [start, len]);
    }
}

/// `ioctl(2)` of a userfaultfd.
pub(super) fn ioctl(file: &File, request: usize, argument: &mut [u64]) -> Result<()> {
    let argument = argument.as_mut_ptr() as usize;
    call(libc::SYS_ioctl, [extended(file.fd()), request, argument]).map(drop)
}

/// Opens a userfaultfd that also stops accesses by the kernel. A missing feature is `EINVAL`.
pub(super) fn open(features: u64) -> Result<File> {
    if valgrind::is_under_valgrind() {
        // Valgrind doesn't support the call and prints a warning each time.
        return Err(Errno(libc::ENOSYS));
    }
    let flags = extended(libc::O_CLOEXEC | libc::O_NONBLOCK);
    let fd = match unfiltered_call(libc::SYS_userfaultfd, [flags]) {
        Err(Errno(libc::EPERM)) if seccomp_filter::may_make_any_call() => {
            let device = File::open(c"/dev/userfaultfd", libc::O_RDWR)?;
            let args = [extended(device.fd()), USERFAULTFD_IOC_NEW, flags];
            call(libc::SYS_ioctl, args)?
        }
        other => other?,
    };
    let file = File::from_fd(int(fd));
    ioctl(&file, UFFDIO_API, &mut [API, features, 0])?;
    Ok(file)
}

fn words(range: &Range<usize>) -> (u64, u64) {
    (range.start as u64, range.len() as u64)
}

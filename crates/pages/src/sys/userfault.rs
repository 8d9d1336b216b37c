//! `userfaultfd(2)` for write protection: who writes to protected memory waits
//! in the kernel, in a system call too, until the protection ends.

use core::ffi::c_int;
use core::ops::Range;

use super::call::{Result, call};
use super::file::File;
use crate::bits::{extended, int};

const API: u64 = 0xaa;
/// Write protection of hugetlb memory, since Linux 5.19.
const WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
/// The same of memory that is not there yet, since Linux 6.4.
const WP_UNPOPULATED: u64 = 1 << 13;
const MODE_WP: u64 = 1 << 1;

const UFFDIO_API: usize = 0xc018_aa3f;
const UFFDIO_WAKE: usize = 0x8010_aa02;
const UFFDIO_REGISTER: usize = 0xc020_aa00;
const UFFDIO_WRITEPROTECT: usize = 0xc018_aa06;

/// An open userfaultfd; all protection ends when it is closed.
#[derive(Debug)]
pub struct WriteProtection(File);

impl WriteProtection {
    /// Opens one. Needs `CAP_SYS_PTRACE` or `vm.unprivileged_userfaultfd`:
    /// without, it would not hold for system calls.
    ///
    /// # Errors
    /// `EPERM`, or `EINVAL` where the kernel cannot do it for hugetlb memory.
    pub fn open() -> Result<WriteProtection> {
        WriteProtection::with(WP_HUGETLBFS_SHMEM)
    }

    /// Opens one that protects ordinary memory, also what of it is not there yet;
    /// as [`WriteProtection::open`].
    ///
    /// # Errors
    /// `EPERM`, or `EINVAL` where the kernel cannot do it.
    pub fn of_ordinary_memory() -> Result<WriteProtection> {
        WriteProtection::with(WP_UNPOPULATED)
    }

    fn with(feature: u64) -> Result<WriteProtection> {
        let flags = extended(libc::O_CLOEXEC | libc::O_NONBLOCK);
        let fd = call(libc::SYS_userfaultfd, [flags, 0, 0, 0, 0, 0])?;
        let new = WriteProtection(File::from_fd(int(fd)));
        new.ioctl(UFFDIO_API, &mut [API, feature, 0])?;
        Ok(new)
    }

    /// The descriptor, which stays open.
    pub fn into_fd(self) -> c_int {
        self.0.into_fd()
    }

    /// What [`WriteProtection::into_fd`] gave.
    pub fn from_fd(fd: c_int) -> WriteProtection {
        WriteProtection(File::from_fd(fd))
    }

    /// Protects a range of mapped memory.
    ///
    /// # Errors
    /// When it cannot be; it is not then.
    pub fn protect(&self, range: &Range<usize>) -> Result<()> {
        let (start, len) = words(range);
        self.ioctl(UFFDIO_REGISTER, &mut [start, len, MODE_WP, 0])?;
        self.ioctl(UFFDIO_WRITEPROTECT, &mut [start, len, 1])
    }

    /// Ends the protection of a range; who waited goes on.
    pub fn release(&self, range: &Range<usize>) {
        let (start, len) = words(range);
        let _ = self.ioctl(UFFDIO_WRITEPROTECT, &mut [start, len, 0]);
    }

    /// Lets those go on who waited for a range that something else has taken the
    /// place of.
    pub fn replaced(&self, range: &Range<usize>) {
        let (start, len) = words(range);
        let _ = self.ioctl(UFFDIO_WAKE, &mut [start, len]);
    }

    fn ioctl(&self, request: usize, argument: &mut [u64]) -> Result<()> {
        let args = [
            extended(self.0.fd()),
            request,
            argument.as_mut_ptr() as usize,
        ];
        call(libc::SYS_ioctl, [args[0], args[1], args[2], 0, 0, 0]).map(drop)
    }
}

fn words(range: &Range<usize>) -> (u64, u64) {
    (range.start as u64, range.len() as u64)
}

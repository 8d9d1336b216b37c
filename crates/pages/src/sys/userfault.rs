//! `userfaultfd(2)` for write protection: who writes to protected memory waits
//! in the kernel until the protection ends.

use core::ops::Range;

use super::call::{Errno, NONE, READS, Result, WRITES, ask, call};
use super::file::File;
use super::{seccomp_filter, valgrind};
use crate::sys::cast::{extended, int};

const API: u64 = 0xaa;
/// Write protection of hugetlb memory, since Linux 5.19.
const WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
const MODE_WP: u64 = 1 << 1;

const UFFDIO_API: usize = READS | WRITES | 0x0018_aa3f;
const UFFDIO_UNREGISTER: usize = WRITES | 0x0010_aa01;
const UFFDIO_WAKE: usize = WRITES | 0x0010_aa02;
const UFFDIO_REGISTER: usize = READS | WRITES | 0x0020_aa00;
const UFFDIO_WRITEPROTECT: usize = READS | WRITES | 0x0018_aa06;
/// Of `/dev/userfaultfd`: gives a descriptor to whoever may open the device;
/// since Linux 6.1.
const USERFAULTFD_IOC_NEW: usize = NONE | 0xaa00;

/// An open userfaultfd; all protection ends when it is closed.
#[derive(Debug)]
pub struct WriteProtection(File);

impl WriteProtection {
    /// Opens one that holds for system calls, too. Needs `CAP_SYS_PTRACE`,
    /// `vm.unprivileged_userfaultfd` or access to `/dev/userfaultfd`.
    ///
    /// # Errors
    /// `EPERM`, or `EINVAL` where the kernel cannot do it for hugetlb memory.
    pub fn open() -> Result<WriteProtection> {
        if valgrind::is_under_valgrind() {
            // It does not know the call, and says so each time.
            return Err(Errno(libc::ENOSYS));
        }
        let flags = extended(libc::O_CLOEXEC | libc::O_NONBLOCK);
        let fd = descriptor(flags)?;
        let new = WriteProtection(File::from_fd(int(fd)));
        new.ioctl(UFFDIO_API, &mut [API, WP_HUGETLBFS_SHMEM, 0])?;
        Ok(new)
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

    /// Lets go of a range whose protection has ended: whoever has come to the
    /// descriptor by a fork does not keep it from being protected by another one.
    pub fn forget(&self, range: &Range<usize>) {
        let (start, len) = words(range);
        let _ = self.ioctl(UFFDIO_UNREGISTER, &mut [start, len]);
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

fn descriptor(flags: usize) -> Result<usize> {
    match ask(libc::SYS_userfaultfd, [flags, 0, 0, 0, 0, 0]) {
        Err(Errno(libc::EPERM)) if seccomp_filter::may_ask() => from_device(flags),
        other => other,
    }
}

/// The descriptor that the device gives.
fn from_device(flags: usize) -> Result<usize> {
    let device = File::open(c"/dev/userfaultfd", libc::O_RDWR)?;
    let args = [extended(device.fd()), USERFAULTFD_IOC_NEW, flags, 0, 0, 0];
    call(libc::SYS_ioctl, args)
}

fn words(range: &Range<usize>) -> (u64, u64) {
    (range.start as u64, range.len() as u64)
}

//! `process_madvise(2)` with `MADV_COLLAPSE`: huge pages for another process.
#![expect(
    unsafe_code,
    reason = "neither std nor nix has process_madvise or pidfd_open"
)]

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Linux 6.1. nix doesn't define it, and libc only for glibc.
pub(super) const MADV_COLLAPSE: libc::c_int = 25;

/// Opens a pidfd (Linux 5.3).
pub(crate) fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: accesses no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: just opened; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Collapses an address range of a process into huge pages (Linux 6.1). With an empty range, only
/// checks the kernel and the permission.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`; `EACCES` or `EPERM` if the process may not be read; `ESRCH` if
/// it has ended or is a kernel thread; `ENOSYS` or `EINVAL` before Linux 6.1; `ENOMEM` if nothing
/// is mapped there or no huge page is available; `EBUSY` if the memory control group is full;
/// `EAGAIN` if a page is locked or pinned; `EINVAL` if this memory cannot be huge.
pub(crate) fn collapse(process: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()> {
    let too_large = |_error| io::Error::from_raw_os_error(libc::EINVAL);
    let start = usize::try_from(range.start).map_err(too_large)?;
    let len = usize::try_from(range.end - range.start).map_err(too_large)?;
    let vector = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(start),
        iov_len: len,
    };
    // SAFETY: the kernel only reads the vector, and a collapse keeps the memory's contents.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_raw_fd(),
            &raw const vector,
            usize::from(len > 0),
            MADV_COLLAPSE,
            0,
        )
    };
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

//! Descriptors that stand for a process (Linux 5.3).
#![expect(unsafe_code, reason = "nix has no pidfd_open")]

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Opens one.
///
/// # Errors
/// Where there is no such process, or the kernel has none for it.
pub(crate) fn open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: opens a descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: just opened, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether its process has ended; `false` where that cannot be asked.
pub(crate) fn has_ended(process: &OwnedFd) -> bool {
    let mut all = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut all, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

//! Descriptors by number: inherited ones, and ones for the program to inherit.
#![expect(unsafe_code, reason = "borrows and owns descriptors by number")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Duplicates an inherited descriptor, and returns whether it is writable. `None` if the number
/// is not open, or opened with `O_PATH`.
pub(crate) fn duplicate(number: RawFd) -> io::Result<Option<(File, bool)>> {
    let Ok(flags) = control(number, FcntlArg::F_GETFL) else {
        return Ok(None);
    };
    let flags = OFlag::from_bits_truncate(flags);
    if flags.contains(OFlag::O_PATH) {
        return Ok(None);
    }
    let can_write = flags & OFlag::O_ACCMODE != OFlag::O_RDONLY;
    let copy = control(number, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: just made; nobody else owns it.
    Ok(Some((unsafe { File::from_raw_fd(copy) }, can_write)))
}

/// Duplicates a descriptor so that it outlives `exec`. The number is high if possible, since
/// programs may expect the low ones free.
pub(crate) fn duplicate_for_exec(file: &File) -> io::Result<RawFd> {
    const HIGH: RawFd = 500;
    let fd = file.as_raw_fd();
    let high = control(fd, FcntlArg::F_DUPFD(HIGH));
    Ok(high.or_else(|_errno| control(fd, FcntlArg::F_DUPFD(3)))?)
}

fn control(number: RawFd, command: FcntlArg<'_>) -> nix::Result<i32> {
    if number < 0 {
        return Err(Errno::EBADF);
    }
    // SAFETY: not -1; the call fails for a number that is not open.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl(fd, command)
}

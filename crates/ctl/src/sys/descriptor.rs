//! Descriptors by their numbers: those that others have opened for hugectl, and one
//! that the program finds open.
#![expect(unsafe_code, reason = "a number says nothing of who owns it")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::fstat;

/// Another descriptor of a file that is open under a number, `None` where none is, or a
/// name alone (`O_PATH`); and whether it can be written to.
///
/// # Errors
/// When there is no further descriptor.
pub(crate) fn handed(number: RawFd) -> io::Result<Option<(File, bool)>> {
    let flags = match of(number, FcntlArg::F_GETFL) {
        Ok(flags) => flags,
        // Whether it can be written to, writing tells.
        Err(Errno::EPERM | Errno::ENOSYS) if is_open(number) => {
            return doubled(number, 3, libc::O_CLOEXEC).map(|copy| Some((owned(copy), true)));
        }
        Err(_) => return Ok(None),
    };
    let flags = OFlag::from_bits_truncate(flags);
    if flags.contains(OFlag::O_PATH) {
        return Ok(None);
    }
    let can_write = flags & OFlag::O_ACCMODE != OFlag::O_RDONLY;
    let copy = of(number, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    Ok(Some((owned(copy), can_write)))
}

fn owned(made: RawFd) -> File {
    // SAFETY: made by the caller, and nobody else's.
    File::from(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Makes a descriptor of a file that outlives `exec`, with a number that is in
/// nobody's way.
///
/// # Errors
/// When there is no further descriptor.
pub(crate) fn stay_open(file: &File) -> io::Result<RawFd> {
    const HIGH: RawFd = 500;
    let fd = file.as_raw_fd();
    match of(fd, FcntlArg::F_DUPFD(HIGH)) {
        Err(Errno::EPERM | Errno::ENOSYS) => {
            doubled(fd, HIGH, 0).or_else(|_error| doubled(fd, 3, 0))
        }
        high => Ok(high.or_else(|_errno| of(fd, FcntlArg::F_DUPFD(3)))?),
    }
}

/// Another descriptor with a number of at least this one, where a filter of system calls
/// refuses `fcntl(2)`. No other thread may open a file meanwhile: hugectl has none.
fn doubled(number: RawFd, least: RawFd, flags: libc::c_int) -> io::Result<RawFd> {
    const AS_MANY: RawFd = 4096;
    let free = (least..least + AS_MANY).find(|other| !is_open(*other));
    let free = free.ok_or(Errno::EMFILE)?;
    // SAFETY: makes a descriptor of a number that nobody has.
    match unsafe { libc::dup3(number, free, flags) } {
        -1 => Err(io::Error::last_os_error()),
        made => Ok(made),
    }
}

fn is_open(number: RawFd) -> bool {
    if number < 0 {
        return false;
    }
    // SAFETY: not -1; a number that stands for nothing is an error of the call.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    fstat(fd) != Err(Errno::EBADF)
}

fn of(number: RawFd, command: FcntlArg<'_>) -> nix::Result<i32> {
    if number < 0 {
        return Err(nix::errno::Errno::EBADF);
    }
    // SAFETY: not -1; a number that stands for nothing is an error of the call.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl(fd, command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_under_a_number() {
        assert!(handed(-1).unwrap().is_none() && handed(9999).unwrap().is_none());
        let file = tempfile::tempfile().unwrap();
        let high = stay_open(&file).unwrap();
        assert_eq!(of(high, FcntlArg::F_GETFD), Ok(0));
        assert!(matches!(handed(high), Ok(Some((_, true)))));
        // Without fcntl.
        let another = doubled(high, high, libc::O_CLOEXEC).unwrap();
        assert!(another > high && is_open(another) && !is_open(9999) && !is_open(-1));
        assert_eq!(of(another, FcntlArg::F_GETFD), Ok(libc::FD_CLOEXEC));
        drop([high, another].map(owned));
    }
}

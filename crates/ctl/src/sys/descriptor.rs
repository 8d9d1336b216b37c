//! Descriptors by their numbers: those that others have opened for hugectl, and one
//! that the program finds open.
#![expect(unsafe_code, reason = "a number says nothing of who owns it")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Another descriptor of a file that is open under a number, `None` where none is, or a
/// name alone (`O_PATH`); and whether it can be written to.
///
/// # Errors
/// When there is no further descriptor.
pub(crate) fn handed(number: RawFd) -> io::Result<Option<(File, bool)>> {
    let Ok(flags) = of(number, FcntlArg::F_GETFL) else {
        return Ok(None);
    };
    let flags = OFlag::from_bits_truncate(flags);
    if flags.contains(OFlag::O_PATH) {
        return Ok(None);
    }
    let can_write = flags & OFlag::O_ACCMODE != OFlag::O_RDONLY;
    let copy = of(number, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: made above, and nobody else's.
    let copy = unsafe { OwnedFd::from_raw_fd(copy) };
    Ok(Some((File::from(copy), can_write)))
}

/// Makes a descriptor of a file that outlives `exec`, with a number that is in
/// nobody's way.
///
/// # Errors
/// When there is no further descriptor.
pub(crate) fn stay_open(file: &File) -> io::Result<RawFd> {
    const HIGH: RawFd = 500;
    let high = of(file.as_raw_fd(), FcntlArg::F_DUPFD(HIGH));
    Ok(high.or_else(|_errno| of(file.as_raw_fd(), FcntlArg::F_DUPFD(3)))?)
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
        // SAFETY: made above, and nobody else's.
        drop(unsafe { OwnedFd::from_raw_fd(high) });
    }
}

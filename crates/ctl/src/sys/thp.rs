//! The ban on transparent huge pages that a process has and gives on: `prctl(2)`.
#![expect(unsafe_code, reason = "nix knows no flags of PR_SET_THP_DISABLE")]

use std::io;

/// What `PR_SET_THP_DISABLE` is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ban {
    /// None.
    Lifted,
    /// All but where they are asked for (`PR_THP_DISABLE_EXCEPT_ADVISED`, Linux 6.18).
    ExceptAdvised,
    /// All of them.
    Complete,
}

/// Sets it for this process, what it becomes and what it starts (Linux 3.15).
///
/// # Errors
/// `EINVAL` where the kernel does not have it.
pub(crate) fn ban(ban: Ban) -> io::Result<()> {
    const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;
    let (on, flags): (libc::c_ulong, libc::c_ulong) = match ban {
        Ban::Lifted => (0, 0),
        Ban::ExceptAdvised => (1, EXCEPT_ADVISED),
        Ban::Complete => (1, 0),
    };
    let none: libc::c_ulong = 0;
    // SAFETY: numbers alone; memory of this process keeps its contents.
    let result = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, flags, none, none) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

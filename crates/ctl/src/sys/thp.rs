//! `prctl(PR_SET_THP_DISABLE)`: disables transparent huge pages for a process and what it
//! starts.
#![expect(unsafe_code, reason = "nix knows no flags of PR_SET_THP_DISABLE")]

use std::io;

/// Which transparent huge pages are disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ban {
    /// None.
    Lifted,
    /// All but those requested by madvise (`PR_THP_DISABLE_EXCEPT_ADVISED`, Linux 6.18).
    ExceptAdvised,
    /// All.
    Complete,
}

/// Sets it for this process, the program it executes and all children (Linux 3.15).
pub(crate) fn ban(ban: Ban) -> io::Result<()> {
    const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;
    let (on, flags): (libc::c_ulong, libc::c_ulong) = match ban {
        Ban::Lifted => (0, 0),
        Ban::ExceptAdvised => (1, EXCEPT_ADVISED),
        Ban::Complete => (1, 0),
    };
    let none: libc::c_ulong = 0;
    // SAFETY: the call takes numbers only, and memory keeps its contents.
    let result = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, flags, none, none) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

//! `prctl(PR_SET_THP_DISABLE)`: disables transparent huge pages for a process and its children.
#![expect(unsafe_code, reason = "nix knows no flags of PR_SET_THP_DISABLE")]

use std::io;

/// Exempts memory with `MADV_HUGEPAGE` (`PR_THP_DISABLE_EXCEPT_ADVISED`, Linux 6.18).
pub(crate) const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Sets or clears `PR_SET_THP_DISABLE` for this process. `execve` keeps it and children inherit it (Linux 3.15).
pub(crate) fn set_disabled(is_disabled: bool, flags: libc::c_ulong) -> io::Result<()> {
    let none: libc::c_ulong = 0;
    let on = libc::c_ulong::from(is_disabled);
    // SAFETY: the call takes numbers only, and memory keeps its contents.
    let result = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, flags, none, none) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

//! A child of this process, waited for, of whose end nobody else hears.
//!
//! What this process becomes did not start that child, and its parent may have told it to
//! ignore or to block `SIGCHLD`, as daemons and Python do: `execve` keeps both. Where the
//! signal is ignored, an ordinary child leaves no status; where it is blocked, it stays
//! pending, and the program finds the end of a child that it never had. So the child is
//! made to end with no signal at all.
#![expect(
    unsafe_code,
    reason = "neither std nor nix has a clone that goes on as fork does"
)]

use std::io;

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Runs `work` in a child, which ends with the status that it returns, and waits for it.
/// The child is a copy of this process; libc knows nothing of it, so it must do without
/// threads and what locks for them.
///
/// # Errors
/// Where there can be no child.
pub(crate) fn run(work: impl FnOnce() -> i32) -> io::Result<WaitStatus> {
    // No flag and no signal, the stack where it is, nothing to be written: all are zero, and
    // so their order is no matter, which is another on s390x.
    // SAFETY: this process has one thread, and the child goes on with a copy of its memory.
    let pid = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if pid == 0 {
        let status = work();
        // SAFETY: ends the process, and runs nothing of this one.
        unsafe { libc::_exit(status) }
    }
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0);
    let pid = pid.ok_or_else(io::Error::last_os_error)?;
    // Without this flag only children are waited for that end with SIGCHLD.
    Ok(waitpid(Pid::from_raw(pid), Some(WaitPidFlag::__WALL))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_child_is_told() {
        let ended = run(|| 7).unwrap();
        assert!(matches!(ended, WaitStatus::Exited(_, 7)), "{ended:?}");
        // SAFETY: ends this process, the child.
        let killed = run(|| unsafe { libc::raise(libc::SIGKILL) });
        let killed = killed.unwrap();
        assert!(matches!(killed, WaitStatus::Signaled(..)), "{killed:?}");
    }
}

//! A child process whose end raises no SIGCHLD.
//!
//! hugectl's parent may ignore or block SIGCHLD, as daemons and Python do, and `execve` keeps
//! both. An ignored signal would discard the child's status; a blocked one would stay pending
//! and tell the program of a child that it never had.
#![expect(
    unsafe_code,
    reason = "neither std nor nix has a clone that goes on as fork does"
)]

use std::io;

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Runs `work` in a child that exits with its result, and waits for it. libc doesn't know of
/// the child, so `work` must not use threads or locks.
pub(crate) fn run(work: impl FnOnce() -> i32) -> io::Result<WaitStatus> {
    // All arguments are zero, so their order, which differs on s390x, doesn't matter.
    // SAFETY: this process has one thread, and the child continues with a copy of its memory.
    let pid = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if pid == 0 {
        let status = work();
        // SAFETY: ends the process without running any of its handlers.
        unsafe { libc::_exit(status) }
    }
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0);
    let pid = pid.ok_or_else(io::Error::last_os_error)?;
    // __WALL also waits for children that don't raise SIGCHLD.
    Ok(waitpid(Pid::from_raw(pid), Some(WaitPidFlag::__WALL))?)
}

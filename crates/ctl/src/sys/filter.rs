//! Tries system calls in a child, to learn what a seccomp filter does with them.
#![expect(unsafe_code, reason = "a child makes system calls that may kill it")]

use std::io;

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A filter's answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Answer {
    #[default]
    Allowed,
    Refused,
    /// Kills the process.
    Kills,
}

/// A system call to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Mremap,
    Madvise,
    /// `mprotect(2)` with `PROT_EXEC`
    Mprotect,
    /// `get_mempolicy(2)`
    GetMempolicy,
    Truncate,
    MemfdCreate,
}

impl Call {
    /// Makes the call with arguments that change nothing; most are invalid. Returns whether
    /// it reached the kernel: it succeeded, or failed with the kernel's error.
    fn is_allowed(self) -> bool {
        const NONE: usize = usize::MAX;
        const NO_FILE: usize = usize::MAX;
        let (number, args, kernel_errno) = match self {
            Call::Mremap => (libc::SYS_mremap, [0, 0, 0, 0], libc::EINVAL),
            Call::Madvise => (
                libc::SYS_madvise,
                [0, 0, libc::MADV_HUGEPAGE as usize, 0],
                libc::EINVAL,
            ),
            Call::Mprotect => (
                libc::SYS_mprotect,
                [0, 0, (libc::PROT_READ | libc::PROT_EXEC) as usize, 0],
                libc::EINVAL,
            ),
            Call::GetMempolicy => (libc::SYS_get_mempolicy, [0, 0, 0, 0], libc::ENOSYS),
            Call::Truncate => (libc::SYS_ftruncate, [NO_FILE, 0, 0, 0], libc::EBADF),
            Call::MemfdCreate => (libc::SYS_memfd_create, [0, NONE, 0, 0], libc::EINVAL),
        };
        let [a, b, c, d] = args;
        // SAFETY: none of these reads, writes or changes memory of this process: the size is
        // zero, the pointers are null, or the descriptor doesn't exist.
        let result = unsafe { libc::syscall(number, a, b, c, d, 0, 0) };
        let error = io::Error::last_os_error().raw_os_error();
        result != -1 || error == Some(kernel_errno)
    }
}

/// Whether a filter is active. Assumes that no filter kills for prctl, since programs need it to
/// name threads.
pub(crate) fn is_active() -> bool {
    // SAFETY: the call has no further arguments and changes nothing.
    let mode = unsafe { libc::prctl(libc::PR_GET_SECCOMP) };
    // A kernel without seccomp returns EINVAL.
    let is_refused = || io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL);
    mode > 0 || mode < 0 && is_refused()
}

/// Makes a call in a child, and returns the filter's answer. Without a child, the call counts as
/// refused.
pub(crate) fn answer(call: Call) -> Answer {
    let ended = in_child(|| {
        disable_core_dumps();
        i32::from(!call.is_allowed())
    });
    match ended {
        Ok(WaitStatus::Exited(_, 0)) => Answer::Allowed,
        Ok(WaitStatus::Signaled(..)) => Answer::Kills,
        _ => Answer::Refused,
    }
}

/// Runs `work` in a child that exits with its result, and waits for it. libc doesn't know of
/// the child, so `work` must not use threads or locks.
///
/// The child's end raises no SIGCHLD. hugectl's parent may ignore or block SIGCHLD, as daemons
/// and Python do, and `execve` keeps both. If ignored, the child's status would be discarded; if
/// blocked, SIGCHLD would stay pending for a program that has no child.
fn in_child(work: impl FnOnce() -> i32) -> io::Result<WaitStatus> {
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

/// Disables core dumps, including those to a program: see core(5) for the limit of one byte.
fn disable_core_dumps() {
    let limit = libc::rlimit {
        rlim_cur: 1,
        rlim_max: 1,
    };
    // SAFETY: the kernel reads the limit.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) };
}

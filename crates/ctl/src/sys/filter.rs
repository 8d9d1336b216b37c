//! What a filter of system calls does about some of them.
#![expect(unsafe_code, reason = "a child tries calls that may end it")]

use std::io;

use nix::sys::wait::WaitStatus;

use crate::sys::child;

/// What a filter does about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answer {
    /// It lets it through.
    #[default]
    Allowed,
    /// It refuses it.
    Refused,
    /// It ends the one that makes it.
    Ends,
}

/// A call that can be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// `mremap(2)`
    Mremap,
    /// `madvise(2)`
    Madvise,
    /// `mprotect(2)`, to what may be executed.
    Mprotect,
    /// `get_mempolicy(2)`
    Policy,
    /// `ftruncate(2)`
    Truncate,
    /// `memfd_create(2)`
    MemoryFile,
}

impl Call {
    /// Makes the call so that it changes nothing; whether it was let through. Of most it is
    /// known how the kernel itself refuses that.
    fn is_let_through(self) -> bool {
        const NONE: usize = usize::MAX;
        const NO_FILE: usize = usize::MAX;
        let (number, args, refused) = match self {
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
            Call::Policy => (libc::SYS_get_mempolicy, [0, 0, 0, 0], libc::ENOSYS),
            Call::Truncate => (libc::SYS_ftruncate, [NO_FILE, 0, 0, 0], libc::EBADF),
            Call::MemoryFile => (libc::SYS_memfd_create, [0, NONE, 0, 0], libc::EINVAL),
        };
        let [a, b, c, d] = args;
        // SAFETY: none of these reads or writes memory of this process, or changes any: a size
        // of zero, a descriptor and flags that do not exist.
        let result = unsafe { libc::syscall(number, a, b, c, d, 0, 0) };
        let error = io::Error::last_os_error().raw_os_error();
        result != -1 || error == Some(refused)
    }
}

/// Whether a filter is active. prctl is trusted not to be fatal: naming a thread calls it.
pub(crate) fn is_active() -> bool {
    // SAFETY: the call has no further arguments and changes nothing.
    let mode = unsafe { libc::prctl(libc::PR_GET_SECCOMP) };
    // A kernel without seccomp returns EINVAL.
    let is_refused = || io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL);
    mode > 0 || mode < 0 && is_refused()
}

/// What a filter does about these calls: a child makes them all, and, should it be ended,
/// one child each.
pub(crate) fn tried<const N: usize>(calls: [Call; N]) -> [Answer; N] {
    match child(&calls) {
        Some(0) => [Answer::Allowed; N],
        _ => calls.map(|call| match child(&[call]) {
            Some(0) => Answer::Allowed,
            Some(_) => Answer::Refused,
            None => Answer::Ends,
        }),
    }
}

/// How many of these calls are refused; `None` where the child that makes them is ended.
/// Where there can be no child, all of them.
fn child(calls: &[Call]) -> Option<i32> {
    let all = i32::try_from(calls.len()).unwrap_or(i32::MAX);
    let ended = child::run(|| {
        leave_no_core();
        let refused = calls.iter().filter(|call| !call.is_let_through()).count();
        i32::try_from(refused).unwrap_or(1)
    });
    match ended {
        Ok(WaitStatus::Exited(_, refused)) => Some(refused),
        Ok(WaitStatus::Signaled(..)) => None,
        _ => Some(all),
    }
}

/// No core is left of who is ended, nor is a program started that takes it: core(5) has
/// the limit of one byte for that.
fn leave_no_core() {
    let limit = libc::rlimit {
        rlim_cur: 1,
        rlim_max: 1,
    };
    // SAFETY: the kernel reads the limit.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_filter_all_is_let_through() {
        let all = [Call::Mremap, Call::Madvise, Call::Mprotect];
        assert_eq!(tried(all), [Answer::Allowed; 3]);
        let all = [Call::Policy, Call::Truncate, Call::MemoryFile];
        assert_eq!(tried(all), [Answer::Allowed; 3]);
    }
}

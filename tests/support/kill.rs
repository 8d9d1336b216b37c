//! Kills a program with SIGKILL before or after one of its system calls that change
//! something.
#![expect(unsafe_code, reason = "a child is traced from its start")]

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// System calls that change something outside the process, on all architectures.
const CHANGES: &[libc::c_long] = &[
    libc::SYS_write,
    libc::SYS_mkdirat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fdatasync,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];

/// Runs a program and kills it at its stop number `at`. There is a stop before and after
/// each such call. Returns false if the program ended earlier.
pub(crate) fn kill_at(command: &mut Command, at: usize) -> bool {
    let trace = || ptrace::traceme().map_err(Into::into);
    // SAFETY: between fork and exec the child makes only one system call.
    let mut child = unsafe { command.pre_exec(trace) }.spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let killed = trace_to(pid, at);
    // Already reaped; this updates the library's state.
    let _ = child.wait();
    killed
}

fn trace_to(pid: Pid, at: usize) -> bool {
    assert!(matches!(
        waitpid(pid, None).unwrap(),
        WaitStatus::Stopped(..)
    ));
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(pid, options).unwrap();
    let (mut seen, mut inside) = (0, false);
    let mut signal = None;
    loop {
        ptrace::syscall(pid, signal.take()).unwrap();
        match waitpid(pid, None).unwrap() {
            WaitStatus::Exited(..) => return false,
            WaitStatus::PtraceSyscall(_) => match (inside, changes(pid)) {
                (false, false) => {}
                (before, _) => {
                    inside = !before;
                    if seen == at {
                        ptrace::kill(pid).unwrap();
                        let end = waitpid(pid, None).unwrap();
                        assert!(matches!(end, WaitStatus::Signaled(..)), "{end:?}");
                        return true;
                    }
                    seen += 1;
                }
            },
            WaitStatus::Stopped(_, other) => signal = Some(other),
            other => panic!("{other:?}"),
        }
    }
}

/// Whether a stop is the entry of a system call that changes something.
fn changes(pid: Pid) -> bool {
    let info = ptrace::syscall_info(pid).unwrap();
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return false;
    }
    // SAFETY: at the entry of a call the kernel fills this member.
    let call = unsafe { info.u.entry };
    let is = |number: libc::c_long| u64::try_from(number) == Ok(call.nr);
    // Opening a file for reading changes nothing.
    let writing = u64::try_from(libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT).unwrap();
    match is(libc::SYS_openat) {
        true => call.args[2] & writing != 0,
        false => CHANGES.iter().any(|&number| is(number)),
    }
}

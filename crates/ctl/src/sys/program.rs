//! A program with hugectl as its parent: its start, its signals, its end.
#![expect(
    unsafe_code,
    reason = "nix has neither the origin of signals nor real-time signals"
)]

use std::io;
use std::time::Duration;

use nix::sys::prctl::{set_child_subreaper, set_dumpable, set_pdeathsig};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal};
use nix::sys::signal::{raise, sigaction, sigprocmask};
use nix::unistd::{ForkResult, Pid, fork, getpgrp, getpid, getppid, tcgetpgrp};

#[derive(Debug)]
pub(crate) struct Child(libc::pid_t);

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Exit(i32),
    Signal(i32),
}

/// Forks. Returns `None` in the child, which keeps the signal mask and is killed when hugectl
/// ends. In the parent, all signals stay blocked; [`Child::next`] takes them.
pub(crate) fn start() -> io::Result<Option<Child>> {
    let mut mask = SigSet::empty();
    sigprocmask(
        SigmaskHow::SIG_SETMASK,
        Some(&SigSet::all()),
        Some(&mut mask),
    )?;
    // While SIGCHLD is ignored, the kernel reaps children and discards their status.
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action runs no code.
    let before = unsafe { sigaction(Signal::SIGCHLD, &default) }?;
    let parent = getpid();
    // SAFETY: this process has one thread.
    let forked = unsafe { fork() };
    if let Ok(ForkResult::Parent { child }) = forked {
        return Ok(Some(Child(child.as_raw())));
    }
    // SAFETY: restores the previous action.
    unsafe { sigaction(Signal::SIGCHLD, &before) }?;
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
    forked?;
    // hugectl cannot pass on a SIGKILL. If a seccomp filter refuses this call, the program
    // outlives hugectl.
    let _ = set_pdeathsig(Signal::SIGKILL);
    if getppid() != parent {
        raise(Signal::SIGKILL)?;
    }
    Ok(None)
}

/// Makes orphaned descendants children of this process, or of init again.
pub(crate) fn adopt_orphans(adopt: bool) {
    // A seccomp filter may refuse it. Then orphans are not reported.
    let _ = set_child_subreaper(adopt);
}

/// Reaps children that have ended. Returns whether others still run.
pub(crate) fn has_children() -> bool {
    loop {
        match wait(libc::WNOHANG) {
            Some((0, _)) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// Returns a child and its status; PID 0 if all still run, `None` without children. nix's
/// waitpid fails for a child that a real-time signal killed.
fn wait(flags: libc::c_int) -> Option<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    // SAFETY: the kernel writes one number.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
    (pid >= 0).then_some((pid, status))
}

impl Child {
    pub(crate) fn pid(&self) -> u32 {
        self.0.unsigned_abs()
    }

    /// Waits at most this long for a signal and passes it on. Stops and resumes with the program.
    /// Returns how the program ended, if it has.
    pub(crate) fn next(&self, time: Duration) -> Option<End> {
        let (signal, code) = receive(time)?;
        if signal == libc::SIGCHLD {
            return self.reap();
        }
        if !has_reached_group(signal, code) {
            self.send(signal);
        }
        None
    }

    fn send(&self, signal: libc::c_int) {
        // SAFETY: sends a signal to a child that was not reaped yet.
        unsafe { libc::kill(self.0, signal) };
    }

    /// Handles all children that have ended or stopped. Children other than the program are
    /// orphans, or older than hugectl: `execve` keeps children.
    fn reap(&self) -> Option<End> {
        loop {
            let (pid, status) = wait(libc::WNOHANG | libc::WUNTRACED)?;
            match pid {
                0 => return None,
                pid if pid != self.0 => {}
                _ if libc::WIFSTOPPED(status) => self.stop_with(libc::WSTOPSIG(status)),
                _ if libc::WIFSIGNALED(status) => {
                    return Some(End::Signal(libc::WTERMSIG(status)));
                }
                _ => return Some(End::Exit(libc::WEXITSTATUS(status))),
            }
        }
    }

    /// Stops hugectl as the program stopped, so that a shell takes the terminal back, and resumes
    /// the program afterwards. Ignores SIGSTOP in the background: it, and a later SIGCONT, may be
    /// meant for the program alone.
    fn stop_with(&self, signal: libc::c_int) {
        if signal != libc::SIGSTOP || is_in_foreground() {
            raise_with_default_action(signal);
            self.send(libc::SIGCONT);
        }
    }
}

/// Raises a signal with its default action. Ignores real-time signals: nix has no name for them.
fn raise_with_default_action(signal: libc::c_int) {
    let Ok(signal) = Signal::try_from(signal) else {
        return;
    };
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action runs no code.
    let before = unsafe { sigaction(signal, &default) };
    let set = SigSet::from(signal);
    // All signals are blocked, so this one stays pending until it is unblocked. These calls
    // cannot fail, except that SIGKILL and SIGSTOP have no action to set.
    let _ = raise(signal);
    let _ = set.thread_unblock();
    let _ = set.thread_block();
    if let Ok(before) = before {
        // SAFETY: restores the previous action; hugectl has no handlers.
        let _ = unsafe { sigaction(signal, &before) };
    }
}

/// Whether this process group is in the foreground of a terminal.
fn is_in_foreground() -> bool {
    let is_own = |group: nix::Result<Pid>| group == Ok(getpgrp());
    is_own(tcgetpgrp(io::stdin()))
        || is_own(tcgetpgrp(io::stdout()))
        || is_own(tcgetpgrp(io::stderr()))
}

/// Whether the terminal sent a signal to the whole process group, the program included.
fn has_reached_group(signal: libc::c_int, code: libc::c_int) -> bool {
    const SI_KERNEL: libc::c_int = 0x80;
    let of_terminal = [
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
        libc::SIGWINCH,
    ];
    code == SI_KERNEL && of_terminal.contains(&signal)
}

/// Waits for a signal. Returns it and its `si_code`; `None` after this time.
fn receive(time: Duration) -> Option<(libc::c_int, libc::c_int)> {
    let time = libc::timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    let all = SigSet::all();
    // SAFETY: a struct of numbers, which the call fills in.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: reads the set and the time, and writes `info`.
    let signal = unsafe { libc::sigtimedwait(all.as_ref(), &raw mut info, &raw const time) };
    (signal > 0).then_some((signal, info.si_code))
}

/// Ends by the signal that killed the program, without a core dump of hugectl. If the signal
/// has no effect, as for the init process of a container, returns 128 plus its number.
pub(crate) fn end_by(signal: libc::c_int) -> u8 {
    // If this fails, hugectl dumps core, too.
    let _ = set_dumpable(false);
    raise_with_default_action(signal);
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

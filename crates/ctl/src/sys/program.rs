//! A program whose parent hugectl stays: its start, its signals, its end.
#![expect(
    unsafe_code,
    reason = "nix has neither signals with their origin nor real-time ones"
)]

use std::io;
use std::time::Duration;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal};
use nix::sys::signal::{raise, sigaction, sigprocmask};
use nix::unistd::{ForkResult, Pid, fork, getpgrp, getpid, getppid, tcgetpgrp};

/// Which of the two processes this is.
pub(crate) enum Side {
    /// The child, which becomes the program.
    Program,
    /// The parent, which waits for it.
    Parent(Child),
}

/// The program, as its parent sees it.
#[derive(Debug)]
pub(crate) struct Child(libc::pid_t);

/// How a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// Forks. The child has the signals as they were, and is killed when hugectl is. In the
/// parent all signals are blocked from here on, and [`Child::next`] takes them.
///
/// # Errors
/// Where there can be no child.
pub(crate) fn start() -> io::Result<Side> {
    let mut mask = SigSet::empty();
    sigprocmask(
        SigmaskHow::SIG_SETMASK,
        Some(&SigSet::all()),
        Some(&mut mask),
    )?;
    // Where SIGCHLD is ignored, the kernel reaps the child and keeps no status.
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action runs no code.
    let before = unsafe { sigaction(Signal::SIGCHLD, &default) }?;
    let parent = getpid();
    // SAFETY: this process has one thread.
    let forked = unsafe { fork() };
    if let Ok(ForkResult::Parent { child }) = forked {
        return Ok(Side::Parent(Child(child.as_raw())));
    }
    // SAFETY: the action that was there.
    unsafe { sigaction(Signal::SIGCHLD, &before) }?;
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
    forked?;
    die_with(parent);
    Ok(Side::Program)
}

/// Has the kernel kill this process when its parent ends: SIGKILL cannot be passed on, and
/// reaches the program all the same.
fn die_with(parent: Pid) {
    // SAFETY: sets a number.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if getppid() != parent {
        let _ = raise(Signal::SIGKILL);
    }
}

/// Whether orphans below this process become its children: what the program leaves running.
pub(crate) fn adopt_orphans(adopt: bool) {
    // SAFETY: sets a flag.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(adopt)) };
}

/// Whether this process has children. Reaps those that have ended.
pub(crate) fn has_children() -> bool {
    loop {
        match wait(libc::WNOHANG) {
            Some((0, _)) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// A child and its status; number 0 where all go on, `None` where there is none.
fn wait(flags: libc::c_int) -> Option<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    // SAFETY: the kernel writes one number.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
    (pid >= 0).then_some((pid, status))
}

impl Child {
    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.0.unsigned_abs()
    }

    /// Takes a signal, if one comes in this time: passes it on, or stops with the program.
    /// How the program has ended, if it has.
    pub(crate) fn next(&self, time: Duration) -> Option<End> {
        let received = receive(time)?;
        if received.signal == libc::SIGCHLD {
            return self.reap();
        }
        if !received.has_reached_group() {
            self.send(received.signal);
        }
        None
    }

    fn send(&self, signal: libc::c_int) {
        // SAFETY: sends a signal, to a child that was not reaped yet.
        unsafe { libc::kill(self.0, signal) };
    }

    /// Takes note of all children that have ended or stopped. Others than the program are
    /// orphans, or were there before hugectl.
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

    /// Stops as the program has, so that a shell takes the terminal back, and goes on with
    /// it. Whoever stops the program alone, by SIGSTOP, may let it go on alone: hugectl
    /// follows only in the foreground, where the shell waits.
    fn stop_with(&self, signal: libc::c_int) {
        if signal != libc::SIGSTOP || is_in_foreground() {
            take(signal);
            self.send(libc::SIGCONT);
        }
    }
}

/// Sends a signal to this process, with its default action.
fn take(signal: libc::c_int) {
    // SAFETY: the default action runs no code.
    let before = unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: sends a signal to this process, where it is blocked: it stays pending.
    unsafe { libc::raise(signal) };
    // SAFETY: a value of numbers, to be made an empty set.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: adds a number to the set.
    unsafe { libc::sigaddset(&raw mut set, signal) };
    let null = std::ptr::null_mut();
    // SAFETY: reads the set.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, null) };
    // SAFETY: likewise.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, null) };
    if before != libc::SIG_ERR {
        // SAFETY: the action that was there: hugectl has no handlers.
        unsafe { libc::signal(signal, before) };
    }
}

/// Whether a terminal has this process group in its foreground.
fn is_in_foreground() -> bool {
    let is_own = |group: nix::Result<Pid>| group == Ok(getpgrp());
    is_own(tcgetpgrp(io::stdin()))
        || is_own(tcgetpgrp(io::stdout()))
        || is_own(tcgetpgrp(io::stderr()))
}

/// A signal that was sent to this process.
#[derive(Debug, Clone, Copy)]
struct Received {
    signal: libc::c_int,
    /// Its `si_code`.
    code: libc::c_int,
}

impl Received {
    /// Whether the terminal has sent it to the process group, and so to the program.
    fn has_reached_group(self) -> bool {
        const SI_KERNEL: libc::c_int = 0x80;
        let of_terminal = [
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTSTP,
            libc::SIGTTIN,
            libc::SIGTTOU,
            libc::SIGWINCH,
        ];
        self.code == SI_KERNEL && of_terminal.contains(&self.signal)
    }
}

/// The next signal; none before the time is over.
fn receive(time: Duration) -> Option<Received> {
    let time = libc::timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    let all = SigSet::all();
    // SAFETY: a value of numbers, which the call fills in.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: reads the set and the time, and writes the rest.
    let signal = unsafe { libc::sigtimedwait(all.as_ref(), &raw mut info, &raw const time) };
    (signal > 0).then_some(Received {
        signal,
        code: info.si_code,
    })
}

/// Ends by a signal, as the program has, without a core dump of hugectl. Where that cannot
/// be, as in the first process of a container: the status that a shell has for it.
pub(crate) fn end_by(signal: libc::c_int) -> u8 {
    // SAFETY: sets a flag.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    take(signal);
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

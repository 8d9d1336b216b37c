//! The process: who it is, what time it is, whom it waits for.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;

use super::call::call;
use crate::bits::{extended, int, unsigned};

/// `getpid(2)`.
pub fn getpid() -> u32 {
    call(libc::SYS_getpid, [0; 6]).map_or(0, |pid| unsigned(int(pid)))
}

/// `gettid(2)`: a number that no other thread of the machine has.
pub fn gettid() -> u32 {
    call(libc::SYS_gettid, [0; 6]).map_or(0, |tid| unsigned(int(tid)))
}

/// The name of the machine, as `uname(2)` gives it.
pub fn host(buffer: &mut [u8; 65]) -> &str {
    let mut names = core::mem::MaybeUninit::<libc::utsname>::zeroed();
    let args = [names.as_mut_ptr() as usize, 0, 0, 0, 0, 0];
    let _ = call(libc::SYS_uname, args);
    // SAFETY: all bits zero are names, and the kernel has filled them in.
    let names = unsafe { names.assume_init() };
    for (byte, letter) in buffer.iter_mut().zip(names.nodename) {
        *byte = letter.to_ne_bytes()[0];
    }
    let text = buffer.split(|byte| *byte == 0).next().unwrap_or(&[]);
    core::str::from_utf8(text).unwrap_or("?")
}

/// `getuid(2)`.
pub fn getuid() -> u32 {
    call(libc::SYS_getuid, [0; 6]).map_or(0, |uid| unsigned(int(uid)))
}

/// `getegid(2)`.
pub fn getegid() -> u32 {
    call(libc::SYS_getegid, [0; 6]).map_or(0, |gid| unsigned(int(gid)))
}

/// `geteuid(2)`.
pub fn geteuid() -> u32 {
    call(libc::SYS_geteuid, [0; 6]).map_or(0, |uid| unsigned(int(uid)))
}

/// Whether this process has a child that it has not waited for. Nothing changes
/// by the question: the program's own `wait(2)` finds the child as before.
pub fn has_child() -> bool {
    const ANY: usize = libc::P_ALL as usize;
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // The kernel takes null for the answer as well; valgrind calls that a fault.
    let mut answer = MaybeUninit::<libc::siginfo_t>::uninit();
    let answer = answer.as_mut_ptr() as usize;
    call(libc::SYS_waitid, [ANY, 0, answer, extended(how), 0, 0]).is_ok()
}

/// Sleeps so many milliseconds, or until a signal.
pub fn sleep(milliseconds: u64) {
    let time = [milliseconds / 1000, milliseconds % 1000 * 1_000_000];
    let _ = call(libc::SYS_nanosleep, [time.as_ptr() as usize, 0, 0, 0, 0, 0]);
}

/// `sched_yield(2)`.
pub fn yield_now() {
    let _ = call(libc::SYS_sched_yield, [0; 6]);
}

/// Milliseconds of a clock that only goes forward.
pub fn now() -> u64 {
    let mut time = core::mem::MaybeUninit::<libc::timespec>::zeroed();
    let clock = extended(libc::CLOCK_MONOTONIC);
    let _ = call(
        libc::SYS_clock_gettime,
        [clock, time.as_mut_ptr() as usize, 0, 0, 0, 0],
    );
    // SAFETY: all bits zero are a valid time, and the kernel may have filled it.
    let time = unsafe { time.assume_init() };
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(time.tv_sec) * 1000 + part(time.tv_nsec) / 1_000_000
}

/// The most address space that the process may have (`ulimit -v`), in bytes;
/// `usize::MAX` without a limit.
pub fn address_space_limit() -> usize {
    let mut limit = core::mem::MaybeUninit::<libc::rlimit64>::zeroed();
    let which = usize::try_from(libc::RLIMIT_AS).unwrap_or(0);
    let args = [0, which, 0, limit.as_mut_ptr() as usize, 0, 0];
    if call(libc::SYS_prlimit64, args).is_err() {
        return usize::MAX;
    }
    // SAFETY: all bits zero are a valid limit, and the kernel has filled it.
    let limit = unsafe { limit.assume_init() };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force.
pub fn thp_disabled() -> bool {
    let args = [extended(libc::PR_GET_THP_DISABLE), 0, 0, 0, 0, 0];
    call(libc::SYS_prctl, args).is_ok_and(|state| state == 1)
}

/// Keeps signals from this thread until it is dropped.
#[derive(Debug)]
pub struct NoSignals(u64);

impl NoSignals {
    /// Blocks all signals that can be blocked.
    pub fn begin() -> NoSignals {
        let mut before = 0;
        set_blocked(libc::SIG_SETMASK, &u64::MAX, &mut before);
        NoSignals(before)
    }
}

impl Drop for NoSignals {
    fn drop(&mut self) {
        set_blocked(libc::SIG_SETMASK, &self.0, &mut 0);
    }
}

/// Lets a signal through to this thread; which ones were blocked.
pub fn unblock(signal: c_int) -> u64 {
    let mut before = 0;
    set_blocked(libc::SIG_UNBLOCK, &(1 << (signal - 1)), &mut before);
    before
}

/// Blocks these signals and no others.
pub fn set_blocked_signals(signals: u64) {
    set_blocked(libc::SIG_SETMASK, &signals, &mut 0);
}

/// `rt_sigprocmask(2)`, with the kernel's own sets of 64 signals.
fn set_blocked(how: c_int, signals: &u64, before: &mut u64) {
    let args = [
        extended(how),
        core::ptr::from_ref(signals) as usize,
        core::ptr::from_mut(before) as usize,
        size_of::<u64>(),
        0,
        0,
    ];
    let _ = call(libc::SYS_rt_sigprocmask, args);
}

/// Waits while `word` holds `value`, at most until it is woken.
pub fn futex_wait(word_at: &AtomicU32, value: u32) {
    let args = [
        word_at.as_ptr() as usize,
        extended(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG),
        value as usize,
        0,
        0,
        0,
    ];
    let _ = call(libc::SYS_futex, args);
}

/// Wakes all who wait on `word`.
pub fn futex_wake(word_at: &AtomicU32) {
    let args = [
        word_at.as_ptr() as usize,
        extended(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG),
        c_int::MAX as usize,
        0,
        0,
        0,
    ];
    let _ = call(libc::SYS_futex, args);
}

/// The base page size, from the auxiliary vector.
pub fn page_size() -> usize {
    match auxv(libc::AT_PAGESZ) {
        0 => 4096,
        size => size,
    }
}

/// Whether the process is set-user-id or the like and must not trust its
/// environment.
pub fn is_secure() -> bool {
    auxv(libc::AT_SECURE) != 0
}

/// Sixteen random bytes that the kernel gave this process, as a number.
pub fn random() -> u64 {
    let at = auxv(libc::AT_RANDOM);
    if at == 0 {
        return 0;
    }
    // SAFETY: the kernel put 16 bytes there, for as long as the process lives.
    unsafe { (at as *const u64).read_unaligned() }
}

fn auxv(tag: libc::c_ulong) -> usize {
    // SAFETY: getauxval takes any number.
    let value = unsafe { libc::getauxval(tag) };
    usize::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_seen_until_it_was_waited_for() {
        use std::process::{Command, Stdio};
        assert!(!has_child());
        let child = Command::new("cat").stdin(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        assert!(has_child());
        drop(child.stdin.take());
        // The question takes nothing away from the answer to this one.
        assert!(child.wait().unwrap().success());
        assert!(!has_child());
    }
}

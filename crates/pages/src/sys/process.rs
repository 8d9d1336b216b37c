//! Process, threads, signals, futexes.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::{c_int, c_long};
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;

use super::call::{Errno, Result, call, file_call, filled, unfiltered_call};
use super::seccomp_filter::{Filter, filter};
use crate::sys::cast::{extended, int, unsigned};

/// Makes a call that returns an ID; 0 if a filter refuses it.
fn id_of(number: c_long) -> u32 {
    call(number, []).map_or(0, |id| unsigned(int(id)))
}

/// `getpid(2)`.
pub fn getpid() -> u32 {
    id_of(libc::SYS_getpid)
}

/// `exit_group(2)`.
pub fn exit(status: c_int) -> ! {
    loop {
        let _ = call(libc::SYS_exit_group, [extended(status)]);
    }
}

/// The program break (`brk(2)`); 0 if unknown.
pub fn program_break() -> usize {
    file_call(libc::SYS_brk, [0]).unwrap_or(0)
}

/// The host name; `None` if it is empty.
pub fn host_name(buffer: &mut [u8; 65]) -> Option<&str> {
    // SAFETY: all bits zero are a valid `utsname`.
    let names =
        unsafe { filled::<libc::utsname>(|names| unfiltered_call(libc::SYS_uname, [names])) };
    let names = names.ok()?;
    for (byte, letter) in buffer.iter_mut().zip(names.nodename) {
        *byte = letter.to_ne_bytes()[0];
    }
    let text = buffer.split(|byte| *byte == 0).next()?;
    core::str::from_utf8(text)
        .ok()
        .filter(|text| !text.is_empty())
}

/// `getuid(2)`.
pub fn getuid() -> u32 {
    id_of(libc::SYS_getuid)
}

/// `getppid(2)`.
pub fn getppid() -> u32 {
    id_of(libc::SYS_getppid)
}

/// `getegid(2)`.
pub fn getegid() -> u32 {
    id_of(libc::SYS_getegid)
}

/// `geteuid(2)`.
pub fn geteuid() -> u32 {
    id_of(libc::SYS_geteuid)
}

/// Whether this process has a zombie child, which stays for the program's `wait(2)`, or a running
/// one; `None` if unknown.
pub fn has_child() -> Option<bool> {
    const ANY: usize = libc::P_ALL as usize;
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // The kernel takes a null pointer, but valgrind reports it.
    let mut answer = MaybeUninit::<libc::siginfo_t>::uninit();
    let answer = answer.as_mut_ptr() as usize;
    match unfiltered_call(libc::SYS_waitid, [ANY, 0, answer, extended(how), 0]) {
        Ok(_) => Some(true),
        Err(Errno(libc::ECHILD)) => Some(false),
        Err(_) => None,
    }
}

/// Whether this process has a single thread, without `/proc`: only then `unshare(CLONE_VM)`
/// succeeds, without effect. `None` if unknown.
pub fn has_one_thread() -> Option<bool> {
    if filter() != Filter::None {
        return None;
    }
    match call(libc::SYS_unshare, [libc::CLONE_VM as usize]) {
        Ok(_) => Some(true),
        Err(Errno(libc::EINVAL)) => Some(false),
        Err(_) => None,
    }
}

/// Milliseconds as the kernel's `timespec`.
pub(super) fn timespec(milliseconds: u64) -> [u64; 2] {
    [milliseconds / 1000, milliseconds % 1000 * 1_000_000]
}

/// Sleeps this long or until a signal.
pub fn sleep(milliseconds: u64) {
    let time = timespec(milliseconds);
    let _ = call(libc::SYS_nanosleep, [time.as_ptr() as usize, 0]);
}

/// Lets other threads run for a moment, by a futex wait with a timeout. `sched_yield(2)` would not
/// let lower priorities run, and a seccomp filter may reject it.
pub fn yield_now() {
    static NOTHING: AtomicU32 = AtomicU32::new(0);
    const MOMENT: [u64; 2] = [0, 20_000];
    let _ = futex(
        NOTHING.as_ptr() as usize,
        libc::FUTEX_WAIT,
        0,
        Some(&MOMENT),
    );
}

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force; `None` if unknown.
pub fn thp_disabled() -> Option<bool> {
    let state = unfiltered_call(libc::SYS_prctl, [extended(libc::PR_GET_THP_DISABLE)]);
    Some(state.ok()? == 1)
}

/// Blocks signals in this thread until dropped.
#[derive(Debug)]
pub struct NoSignals(u64);

/// Signals that a thread's own faults raise. If they are blocked, a fault kills the process.
pub const FAULT_SIGNALS: u64 = 1 << (libc::SIGSEGV - 1)
    | 1 << (libc::SIGBUS - 1)
    | 1 << (libc::SIGFPE - 1)
    | 1 << (libc::SIGILL - 1)
    | 1 << (libc::SIGTRAP - 1)
    | 1 << (libc::SIGSYS - 1);

impl NoSignals {
    /// Blocks all signals.
    pub fn begin() -> NoSignals {
        NoSignals(set_blocked(libc::SIG_SETMASK, u64::MAX))
    }

    /// Blocks all signals except faults.
    pub fn but_faults() -> NoSignals {
        NoSignals(block_signals(!FAULT_SIGNALS))
    }

    /// Blocks all signals except faults, unless the program's own seccomp filter may forbid it.
    pub fn where_allowed() -> Option<NoSignals> {
        (filter() != Filter::Own).then(NoSignals::but_faults)
    }
}

impl Drop for NoSignals {
    fn drop(&mut self) {
        set_blocked_signals(self.0);
    }
}

/// Blocks more signals; returns those blocked before.
pub fn block_signals(signals: u64) -> u64 {
    set_blocked(libc::SIG_BLOCK, signals)
}

/// Replaces the set of blocked signals.
pub fn set_blocked_signals(signals: u64) {
    set_blocked(libc::SIG_SETMASK, signals);
}

/// `rt_sigprocmask(2)`; returns the signals blocked before.
fn set_blocked(how: c_int, signals: u64) -> u64 {
    let mut before = 0_u64;
    let (set, old) = (&raw const signals as usize, &raw mut before as usize);
    let args = [extended(how), set, old, size_of::<u64>()];
    let _ = call(libc::SYS_rt_sigprocmask, args);
    before
}

/// `futex(2)` within this process; `time` is relative, in seconds and nanoseconds.
fn futex(addr: usize, operation: c_int, value: u32, time: Option<&[u64; 2]>) -> Result<usize> {
    let operation = extended(operation | libc::FUTEX_PRIVATE_FLAG);
    let time = time.map_or(0, |time| time.as_ptr() as usize);
    call(libc::SYS_futex, [addr, operation, value as usize, time])
}

/// Waits while the word holds `value`.
pub fn futex_wait(word_at: &AtomicU32, value: u32) {
    let _ = futex(word_at.as_ptr() as usize, libc::FUTEX_WAIT, value, None);
}

/// Waits while the word holds `value`, at most `milliseconds`.
pub fn futex_wait_for(word_at: &AtomicU32, value: u32, milliseconds: u64) {
    let (addr, time) = (word_at.as_ptr() as usize, timespec(milliseconds));
    let _ = futex(addr, libc::FUTEX_WAIT, value, Some(&time));
}

/// Makes the kernel read a word, by a futex wait that ends at once. A page that can't be populated
/// is `EFAULT`, not a signal.
pub fn probe_read(addr: usize) -> Result<()> {
    const NEVER: u32 = 0x5a5a_5a5a;
    match futex(addr, libc::FUTEX_WAIT, NEVER, Some(&[0; 2])) {
        Err(Errno(libc::EAGAIN | libc::ETIMEDOUT)) | Ok(_) => Ok(()),
        error => error.map(drop),
    }
}

/// Wakes all waiters of the word.
pub fn futex_wake(word_at: &AtomicU32) {
    const ALL: u32 = c_int::MAX as u32;
    let _ = futex(word_at.as_ptr() as usize, libc::FUTEX_WAKE, ALL, None);
}

/// Base page size in bytes.
pub fn page_size() -> usize {
    match auxv(libc::AT_PAGESZ) {
        0 => 4096,
        size => size,
    }
}

/// Estimate of the bytes populated by page faults: a base page for each minor fault
/// (`getrusage(2)`). 0 under a filter.
pub fn faulted_bytes() -> usize {
    let who = extended(libc::RUSAGE_SELF);
    let get = |usage| unfiltered_call(libc::SYS_getrusage, [who, usage]);
    // SAFETY: all bits zero are a valid `rusage`.
    let faults = unsafe { filled::<libc::rusage>(get) }.map_or(0, |usage| usage.ru_minflt);
    let faults = usize::try_from(faults).unwrap_or(0);
    faults.saturating_mul(page_size())
}

/// Whether the process is set-user-id or the like and must not trust its environment.
pub fn is_secure() -> bool {
    auxv(libc::AT_SECURE) != 0
}

fn auxv(tag: libc::c_ulong) -> usize {
    // SAFETY: getauxval takes any number.
    let value = unsafe { libc::getauxval(tag) };
    usize::try_from(value).unwrap_or(0)
}

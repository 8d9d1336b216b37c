//! Commands for the service and their answers, one at a time.

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use crate::sys::{self, Errno, Result};

#[derive(Debug)]
pub(super) enum Command {
    /// Park a range.
    Add(Range<usize>),
    /// Bring all pieces back and end.
    Finish,
}

/// The service doesn't run.
const ABSENT: u32 = 0;
/// It runs, without a command.
const IDLE: u32 = 1;
const ADD: u32 = 2;
const FINISH: u32 = 3;

/// The state of the service, a futex.
static STATE: AtomicU32 = AtomicU32::new(ABSENT);

/// The range of [`Command::Add`].
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// The answer: bytes parked.
static BYTES: AtomicUsize = AtomicUsize::new(0);
/// The answer: an error, or 0.
static ERROR: AtomicI32 = AtomicI32::new(0);

/// The service's userfaultfd.
static USERFAULTFD: AtomicI32 = AtomicI32::new(-1);

pub(super) fn is_running() -> bool {
    STATE.load(Ordering::Acquire) != ABSENT
}

/// Gives the service a command and waits; `None` if it doesn't run.
pub(super) fn give(command: &Command) -> Option<Result<usize>> {
    let pending = prepare(command);
    let given = STATE.compare_exchange(IDLE, pending, Ordering::AcqRel, Ordering::Relaxed);
    given.ok()?;
    Some(wait(pending))
}

/// Starts the service with a command and waits. `fd` is its userfaultfd.
pub(super) fn start(
    command: &Command,
    fd: c_int,
    begin: impl FnOnce() -> Result<()>,
) -> Result<usize> {
    USERFAULTFD.store(fd, Ordering::Relaxed);
    let pending = prepare(command);
    STATE.store(pending, Ordering::Release);
    begin().inspect_err(|_| STATE.store(ABSENT, Ordering::Release))?;
    wait(pending)
}

fn prepare(command: &Command) -> u32 {
    match command {
        Command::Add(range) => {
            START.store(range.start, Ordering::Relaxed);
            END.store(range.end, Ordering::Relaxed);
            ADD
        }
        Command::Finish => FINISH,
    }
}

fn wait(pending: u32) -> Result<usize> {
    while STATE.load(Ordering::Acquire) == pending {
        sys::futex_wait(&STATE, pending);
    }
    match ERROR.load(Ordering::Relaxed) {
        0 => Ok(BYTES.load(Ordering::Relaxed)),
        error => Err(Errno(error)),
    }
}

/// Forgets the parent's service in the child of a fork.
pub(super) fn forget() {
    STATE.store(ABSENT, Ordering::Relaxed);
}

/// Returns the service's userfaultfd.
pub(super) fn userfaultfd() -> c_int {
    USERFAULTFD.load(Ordering::Relaxed)
}

/// The command to execute, if any.
pub(super) fn next() -> Option<Command> {
    let load = |word: &AtomicUsize| word.load(Ordering::Relaxed);
    match STATE.load(Ordering::Acquire) {
        ADD => Some(Command::Add(load(&START)..load(&END))),
        FINISH => Some(Command::Finish),
        _ => None,
    }
}

/// Answers a command: the bytes parked, or an error.
pub(super) fn answer(result: Result<usize>) {
    BYTES.store(result.unwrap_or(0), Ordering::Relaxed);
    let error = result.err().map_or(0, |error| error.0);
    ERROR.store(error, Ordering::Relaxed);
    STATE.store(IDLE, Ordering::Release);
    sys::futex_wake(&STATE);
}

/// Marks the service as ended, after [`Command::Finish`].
pub(super) fn end() {
    STATE.store(ABSENT, Ordering::Release);
    sys::futex_wake(&STATE);
}

/// Marks the service as ended unless a command is pending; returns whether it did.
pub(super) fn try_end() -> bool {
    let ended = STATE.compare_exchange(IDLE, ABSENT, Ordering::AcqRel, Ordering::Relaxed);
    ended.is_ok()
}

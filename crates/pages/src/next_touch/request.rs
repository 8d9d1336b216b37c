//! What callers ask of the service: one request at a time.
//!
//! The first request starts the service's thread; the caller brings the function that creates
//! threads.

use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use super::{balancing, nodes, ranges, service, survey};
use crate::kernel::{dma_users, facts};
use crate::rt::lock::Lock;
use crate::rt::message::{Amount, Level, say};
use crate::sys::{self, Bell, Errno, Missing, NoSignals, Result};

/// A thread's function.
pub type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
/// Creates a detached thread.
pub type Spawn = fn(Start) -> Result<()>;

/// What a caller asks.
#[derive(Debug)]
pub(super) enum Command {
    /// Set a range aside.
    Add(Range<usize>),
    /// Bring everything back.
    Finish,
}

/// Held by a caller until its request is answered.
static CALLERS: Lock = Lock::new();
/// Forks of this process in progress: no service may start.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The service doesn't run.
const ABSENT: u32 = 0;
/// It runs, without a command.
const IDLE: u32 = 1;
/// It has been asked for a range.
const ADD: u32 = 2;
/// It has been asked to end.
const FINISH: u32 = 3;
/// The state of the service, a futex.
static STATE: AtomicU32 = AtomicU32::new(ABSENT);

/// The range that was asked for.
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// The answer: bytes set aside, and an error if there are none.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static ERROR: AtomicI32 = AtomicI32::new(0);
/// Descriptors; the bell stays open once it exists.
static FAULTS: AtomicI32 = AtomicI32::new(-1);
static BELL: AtomicI32 = AtomicI32::new(-1);

/// Has a range moved to the nodes of the threads that touch it next. `except` is a thread that
/// doesn't count, or 0.
///
/// # Errors
/// `ENOTSUP` on one node, or if neither way works; `EINVAL` if the range holds no private
/// anonymous memory.
pub fn request(range: &Range<usize>, except: u32, spawn: Spawn) -> Result<()> {
    if !nodes::are_many() {
        return Err(Errno(libc::ENOTSUP));
    }
    let range = whole_pages(range).ok_or(Errno(libc::EINVAL))?;
    if survey::is_local(&range, except) {
        let why = "all pages and threads are on one node";
        say(
            Level::Info,
            format_args!("next touch: nothing to gain, since {why}"),
        );
        return Ok(());
    }
    if facts::has_filter() {
        return balancing::ask(&range, "a seccomp filter is in force");
    }
    if dma_users::may_write() {
        return balancing::ask(&range, "a device or a ring may be writing");
    }
    match ask(&range, spawn) {
        Ok(()) => {
            let bytes = Amount(BYTES.load(Ordering::Relaxed));
            say(
                Level::Info,
                format_args!("next touch: {bytes} go to the next thread's node, by userfaultfd(2)"),
            );
            Ok(())
        }
        Err(Errno(libc::EPERM | libc::EACCES)) => {
            balancing::ask(&range, "the process may not use userfaultfd(2)")
        }
        Err(Errno(libc::ENOSYS)) => {
            balancing::ask(&range, "the kernel has no UFFDIO_MOVE (Linux 6.8)")
        }
        error => error,
    }
}

/// Rounds to pages; `None` if the range holds no memory that qualifies.
fn whole_pages(range: &Range<usize>) -> Option<Range<usize>> {
    let page = sys::page_size();
    let end = range.end.checked_next_multiple_of(page)?;
    let range = range.start / page * page..end;
    let mut any = false;
    ranges::each(&range, |_, _| any = true);
    any.then_some(range)
}

/// Has the service, which is started unless it runs, set a range aside.
fn ask(range: &Range<usize>, spawn: Spawn) -> Result<()> {
    let _quiet = NoSignals::but_faults();
    let _held = CALLERS.lock();
    while FORKS.load(Ordering::Acquire) > 0 {
        sys::sleep(1);
    }
    START.store(range.start, Ordering::Relaxed);
    END.store(range.end, Ordering::Relaxed);
    let mut faults = None;
    if !command(ADD) {
        faults = Some(start(spawn)?);
    }
    wait_for(ADD);
    // The service has its own copy.
    drop(faults);
    match ERROR.load(Ordering::Relaxed) {
        0 => Ok(()),
        error => Err(Errno(error)),
    }
}

/// Starts the service, with the command.
fn start(spawn: Spawn) -> Result<Missing> {
    let faults = Missing::open().map_err(|error| match error {
        // It knows no such feature.
        Errno(libc::EINVAL) => Errno(libc::ENOSYS),
        other => other,
    })?;
    if BELL.load(Ordering::Relaxed) < 0 {
        BELL.store(Bell::new()?.into_fd(), Ordering::Relaxed);
    }
    FAULTS.store(faults.fd(), Ordering::Relaxed);
    STATE.store(ADD, Ordering::Release);
    match spawn(service::run) {
        Ok(()) => Ok(faults),
        Err(error) => {
            STATE.store(ABSENT, Ordering::Release);
            Err(error)
        }
    }
}

/// Gives the service a command; `false` if it doesn't run.
fn command(what: u32) -> bool {
    let given = STATE.compare_exchange(IDLE, what, Ordering::AcqRel, Ordering::Relaxed);
    if given.is_ok() {
        Bell::ring(BELL.load(Ordering::Relaxed));
    }
    given.is_ok()
}

fn wait_for(what: u32) {
    while STATE.load(Ordering::Acquire) == what {
        sys::futex_wait(&STATE, what);
    }
}

/// Brings everything back; the service ends.
pub fn finish() {
    if STATE.load(Ordering::Acquire) == ABSENT {
        return;
    }
    let _quiet = NoSignals::but_faults();
    let _held = CALLERS.lock();
    if command(FINISH) {
        wait_for(FINISH);
    }
}

/// Before a fork: everything comes back, and nothing is set aside until [`go_on`].
pub fn pause() {
    FORKS.fetch_add(1, Ordering::AcqRel);
    finish();
}

/// After a fork, in the parent.
pub fn go_on() {
    FORKS.fetch_sub(1, Ordering::AcqRel);
}

/// In the child of a fork, which has no service.
pub fn in_child() {
    FORKS.store(0, Ordering::Relaxed);
    STATE.store(ABSENT, Ordering::Relaxed);
    let bell = BELL.swap(-1, Ordering::Relaxed);
    if bell >= 0 {
        drop(Bell::from_fd(bell));
    }
}

/// The service's descriptors.
pub(super) fn files() -> (c_int, c_int) {
    (FAULTS.load(Ordering::Relaxed), BELL.load(Ordering::Relaxed))
}

/// The next command.
pub(super) fn next() -> Option<Command> {
    match STATE.load(Ordering::Acquire) {
        ADD => Some(Command::Add(
            START.load(Ordering::Relaxed)..END.load(Ordering::Relaxed),
        )),
        FINISH => Some(Command::Finish),
        _ => None,
    }
}

/// Answers a request with the bytes set aside.
pub(super) fn answer(result: Result<usize>) {
    BYTES.store(result.unwrap_or(0), Ordering::Relaxed);
    let error = result.err().map_or(0, |error| error.0);
    ERROR.store(error, Ordering::Relaxed);
    STATE.store(IDLE, Ordering::Release);
    sys::futex_wake(&STATE);
}

/// Ends the service as asked.
pub(super) fn end() {
    STATE.store(ABSENT, Ordering::Release);
    sys::futex_wake(&STATE);
}

/// Ends the service unless there is a command.
pub(super) fn try_end() -> bool {
    let ended = STATE.compare_exchange(IDLE, ABSENT, Ordering::AcqRel, Ordering::Relaxed);
    ended.is_ok()
}

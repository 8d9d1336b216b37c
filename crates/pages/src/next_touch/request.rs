//! Entry points: one request at a time. Without a service, it starts the service's thread by a
//! function that the caller passes.

use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::commands::{self, Command};
use super::{nodes, ranges, service};
use crate::kernel::{dma_users, facts};
use crate::rt::lock::{Held, Lock};
use crate::rt::message::{Amount, Level, say, say_once};
use crate::sys::{self, Errno, MoveFault, NoSignals, Result};

/// A thread's function.
pub type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
/// Creates a detached thread.
pub type Spawn = fn(Start) -> Result<()>;

/// Held until a request is answered.
static CALLERS: Lock = Lock::new();
/// Number of forks in progress, during which no service starts.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Makes the pages of a range move to the node of the next thread that touches them.
///
/// # Errors
/// `ENOTSUP` with one node, or, after one message, if userfaultfd can't be used; `EINVAL` if no part
/// of the range is movable (`ranges`). Other errors are those of the setup, the service or `spawn`.
pub fn request(range: &Range<usize>, spawn: Spawn) -> Result<()> {
    if !nodes::are_several() {
        return Err(Errno(libc::ENOTSUP));
    }
    let range = whole_pages(range).ok_or(Errno(libc::EINVAL))?;
    if facts::has_filter() {
        return refuse("a seccomp filter is in force");
    }
    if dma_users::may_write() {
        return refuse("DMA or io_uring may be writing");
    }
    match ask(&range, spawn) {
        Ok(bytes) => {
            say(
                Level::Info,
                format_args!(
                    "next touch: {} can move to the node of the next thread that touches them",
                    Amount(bytes)
                ),
            );
            Ok(())
        }
        Err(Errno(libc::EPERM | libc::EACCES)) => refuse(
            "userfaultfd(2) is not permitted (to permit it: hugeadm --set-userfaultfd-group GROUP)",
        ),
        Err(Errno(libc::ENOSYS)) => refuse(
            "UFFDIO_MOVE isn't available (it needs Linux 6.8 and doesn't work under valgrind)",
        ),
        Err(error) => Err(error),
    }
}

fn refuse(why: &str) -> Result<()> {
    static SAID: AtomicBool = AtomicBool::new(false);
    say_once(
        &SAID,
        Level::Warning,
        format_args!("next touch: no pages will move, since {why}"),
    );
    Err(Errno(libc::ENOTSUP))
}

/// Rounds to pages; `None` if no part of the range is movable.
fn whole_pages(range: &Range<usize>) -> Option<Range<usize>> {
    let page = sys::page_size();
    let end = range.end.checked_next_multiple_of(page)?;
    let range = range.start / page * page..end;
    let mut any = false;
    ranges::for_each_movable(&range, |_, _| any = true);
    any.then_some(range)
}

/// Lets the service park a range, and starts it if needed; returns the bytes parked.
fn ask(range: &Range<usize>, spawn: Spawn) -> Result<usize> {
    let _quiet = NoSignals::but_faults();
    let _held = lock_between_forks();
    let command = Command::Add(range.clone());
    if let Some(answer) = commands::give(&command) {
        return answer;
    }
    let faults = MoveFault::open().map_err(|error| match error {
        // The kernel lacks UFFDIO_MOVE.
        Errno(libc::EINVAL) => Errno(libc::ENOSYS),
        other => other,
    })?;
    // The service has its own copy, so `faults` is closed here.
    commands::start(&command, faults.fd(), || spawn(service::run))
}

fn lock_between_forks() -> Held<'static> {
    loop {
        let held = CALLERS.lock();
        if FORKS.load(Ordering::Acquire) == 0 {
            return held;
        }
        drop(held);
        sys::sleep(1);
    }
}

/// Brings all pieces back and ends the service.
pub fn finish() {
    if commands::is_running() {
        let _quiet = NoSignals::but_faults();
        let _held = CALLERS.lock();
        commands::give(&Command::Finish);
    }
}

/// Brings all pieces back before a fork; nothing is parked until [`resume`].
pub fn pause() {
    let _quiet = NoSignals::but_faults();
    let _held = CALLERS.lock();
    FORKS.fetch_add(1, Ordering::AcqRel);
    commands::give(&Command::Finish);
}

/// Ends [`pause`] in the parent.
pub fn resume() {
    FORKS.fetch_sub(1, Ordering::AcqRel);
}

/// Resets the child of a fork, which has no service.
pub fn in_child() {
    FORKS.store(0, Ordering::Relaxed);
    commands::forget();
}

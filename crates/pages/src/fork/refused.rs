//! Forks that the kernel refuses for want of a huge page.
//!
//! It copies pages that a device writes to at the fork itself, since the parent must
//! keep its own, and says `ENOMEM` where the pool has none left for that. A thread
//! whose fork has shared such pages, since the pool had enough of them a moment ago or
//! others were at them, forks again: then all of them are copied for the child, while
//! others write if need be.

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys::{self, Errno};

/// The thread whose fork has shared pages beside a device, or could not copy some that
/// others were at; 0 for none. Of two at the same time one is known.
static SHARED: AtomicUsize = AtomicUsize::new(0);
/// The thread that forks again; 0 for none.
static AGAIN: AtomicUsize = AtomicUsize::new(0);

/// Runs `fork`, and once more where that helps. Its result, or -1 with `errno`, as
/// `fork(2)`.
pub fn once_more(fork: impl Fn() -> c_int) -> c_int {
    let me = sys::thread_name();
    let result = fork();
    let is_refused = result == -1 && sys::errno() == Errno(libc::ENOMEM);
    if SHARED
        .compare_exchange(me, 0, Ordering::Relaxed, Ordering::Relaxed)
        .is_err()
        || !is_refused
    {
        return result;
    }
    let is_first = AGAIN.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed);
    if is_first.is_err() {
        return result;
    }
    let result = fork();
    // In the child, too.
    AGAIN.store(0, Ordering::Relaxed);
    result
}

/// Notes that this thread's fork may share such pages.
pub(super) fn note_shared() {
    SHARED.store(sys::thread_name(), Ordering::Relaxed);
}

/// Whether this is the second fork.
pub(super) fn is_again() -> bool {
    AGAIN.load(Ordering::Relaxed) == sys::thread_name()
}

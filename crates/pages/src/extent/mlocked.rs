//! Locks of memory (`mlock(2)`, `mlockall(2)`). The kernel records no lock of hugetlb pages, so
//! memory that replaces them is locked again: all of it, once the program has locked any.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// Whether memory that moves off a pool is locked.
static LOCK_MOVED: AtomicBool = AtomicBool::new(false);

/// Whether new mappings are locked (`MCL_FUTURE`).
static LOCK_FUTURE: AtomicBool = AtomicBool::new(false);

/// Records a lock of hugetlb pages. It counts for all of them: too much is locked rather than too
/// little.
pub fn note() {
    LOCK_MOVED.store(true, Ordering::Release);
}

/// Records a successful `mlockall(2)`.
pub fn all_locked(flags: i32) {
    note();
    LOCK_FUTURE.store(flags & libc::MCL_FUTURE != 0, Ordering::Release);
}

/// Records that nothing is locked (`munlockall(2)`).
pub fn clear() {
    LOCK_MOVED.store(false, Ordering::Release);
    LOCK_FUTURE.store(false, Ordering::Release);
}

/// Whether new mappings are locked.
pub fn locks_future() -> bool {
    LOCK_FUTURE.load(Ordering::Acquire)
}

/// Locks ordinary memory that has replaced hugetlb pages, if the program has locked any, as far as
/// `RLIMIT_MEMLOCK` permits.
pub fn restore(range: &Range<usize>) {
    if LOCK_MOVED.load(Ordering::Acquire) {
        let _ = sys::mlock(range.start, range.len());
    }
}

//! Locks of all memory (`mlockall(2)`). The kernel records no lock of hugetlb pages, so memory that
//! replaces them must be locked again. A range that the program locks by `mlock(2)` leaves the pool
//! first, and the kernel records the lock.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// Whether memory that moves off a pool is locked.
static LOCK_MOVED: AtomicBool = AtomicBool::new(false);

/// Whether new mappings are locked (`MCL_FUTURE`).
static LOCK_FUTURE: AtomicBool = AtomicBool::new(false);

/// Records a successful `mlockall(2)`. It counts for memory mapped later, too, even without
/// `MCL_FUTURE`: too much is locked rather than too little.
pub fn all_locked(flags: i32) {
    LOCK_MOVED.store(true, Ordering::Release);
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

/// Locks ordinary memory that has replaced hugetlb pages, if `mlockall(2)` demands it.
pub fn restore(range: &Range<usize>) {
    if LOCK_MOVED.load(Ordering::Acquire) {
        let _ = sys::mlock(range.start, range.len());
    }
}

//! Records `mlock(2)` of hugetlb pages, which the kernel ignores. Ordinary memory that replaces
//! them is locked if it lies between the first and the last locked byte.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sys;

/// The first locked byte, and the end of the last one.
static START: AtomicUsize = AtomicUsize::new(usize::MAX);
static END: AtomicUsize = AtomicUsize::new(0);

/// Whether new mappings are locked (`MCL_FUTURE`).
static LOCK_FUTURE: AtomicBool = AtomicBool::new(false);

/// Records a lock of hugetlb pages. Memory between two locked ranges counts as locked, too.
pub fn note(range: &Range<usize>) {
    START.fetch_min(range.start, Ordering::AcqRel);
    END.fetch_max(range.end, Ordering::AcqRel);
}

/// Records a successful `mlockall(2)`.
pub fn all_locked(flags: i32) {
    note(&(0..usize::MAX));
    LOCK_FUTURE.store(flags & libc::MCL_FUTURE != 0, Ordering::Release);
}

/// Records that nothing is locked (`munlockall(2)`).
pub fn clear() {
    START.store(usize::MAX, Ordering::Release);
    END.store(0, Ordering::Release);
    LOCK_FUTURE.store(false, Ordering::Release);
}

/// Whether new mappings are locked.
pub fn locks_future() -> bool {
    LOCK_FUTURE.load(Ordering::Acquire)
}

/// Locks the ordinary memory that has replaced locked hugetlb pages, as far as `RLIMIT_MEMLOCK`
/// permits.
pub fn restore(range: &Range<usize>) {
    let start = START.load(Ordering::Acquire).max(range.start);
    let end = END.load(Ordering::Acquire).min(range.end);
    if start < end {
        let _ = sys::mlock(start, end - start);
    }
}

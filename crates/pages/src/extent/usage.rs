//! How much of all extents is in use, and whether that is a small heap.

use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::report::reasons;

use crate::kernel::facts;

/// A heap up to this size stays on base pages, so that shells and daemons that
/// fork at their start pay nothing.
pub const SMALL_HEAP: usize = reasons::SMALL_HEAP_BYTES;

/// A heap of this size is not small any more, however little of it is touched.
pub const GROWN_HEAP: usize = 2 * SMALL_HEAP;

/// The most that an allocator takes for blocks of one size; more is a block of
/// the program's own.
const ROOM: usize = 4 << 20;

/// Whether a heap is small still once `more` bytes are taken. What is taken
/// counts first; then what is touched, which costs a look: an allocator takes
/// room for each size of block, and a small program uses little of it.
pub fn is_small(more: usize) -> bool {
    match in_use() + more {
        taken if taken <= SMALL_HEAP => true,
        taken if taken > GROWN_HEAP || more > ROOM => false,
        // What cannot be told is not small: that is known to be taken.
        _ => facts::resident_memory().is_some_and(|resident| resident <= SMALL_HEAP),
    }
}

/// Bytes in use in all extents.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The most that were.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The most bytes that were in use in all extents.
pub fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

/// Bytes in use in all extents.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// Counts bytes that are taken into use.
pub(crate) fn add(bytes: usize) {
    let now = IN_USE
        .fetch_add(bytes, Ordering::Relaxed)
        .saturating_add(bytes);
    if now > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
}

/// Counts bytes that are returned, or were counted though they should not be.
pub(crate) fn subtract(bytes: usize) {
    IN_USE.fetch_sub(bytes, Ordering::Relaxed);
}

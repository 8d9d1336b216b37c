//! Counts bytes in use in the heap's extents.

use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::report::reasons;

/// A heap up to this size (bytes) may stay on base pages: small programs then need no more memory
/// than without huge pages.
pub const SMALL_HEAP: usize = reasons::SMALL_HEAP_BYTES;

/// Tolerance (bytes) when a report compares [`peak`] with resident memory.
pub const REPORT_TOLERANCE: usize = 2 * SMALL_HEAP;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Maximum bytes in use in the heap's extents.
pub fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

/// Bytes in use in the heap's extents.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

pub(crate) fn add(bytes: usize) {
    let now = IN_USE
        .fetch_add(bytes, Ordering::Relaxed)
        .saturating_add(bytes);
    if now > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
}

pub(crate) fn subtract(bytes: usize) {
    IN_USE.fetch_sub(bytes, Ordering::Relaxed);
}

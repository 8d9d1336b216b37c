//! The end of a block that has an extent for itself: of its last huge page nothing else
//! is made.

use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_contract::segment::GROWING_AREA;

use crate::extent::Extent;
use crate::extent::slice_bitmap::SLICE;

/// What of a block may be left over of its last huge page: one part in so many.
pub const LEFT_OVER: usize = 20;

/// Whether a block was given such an end.
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Notes that a block ends on base pages, or is on such as a whole.
pub fn note_plain() {
    IS_LEFT.store(true, Ordering::Relaxed);
}

/// Whether there was one.
pub fn was_plain() -> bool {
    IS_LEFT.load(Ordering::Relaxed)
}

/// Whether the last bytes of a block, less than a unit, are worth a huge page: little of
/// that is left over.
pub fn is_worth_a_page(end: usize, unit: usize, size: usize) -> bool {
    end.next_multiple_of(unit) - end <= size / LEFT_OVER
}

/// Whether a unit is to stay on base pages, since it is the end of a block and not worth
/// another page.
pub fn is_plain(extent: &Extent, unit: usize) -> bool {
    if !was_plain() || !GROWING_AREA.contains(&(extent.base as u64)) {
        return false;
    }
    let size = extent.used_slices() * SLICE;
    let end = size % extent.layout.unit;
    unit == size / extent.layout.unit && !is_worth_a_page(end, extent.layout.unit, size)
}

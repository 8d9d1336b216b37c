//! A bit for each segment whose requirement isn't met: in this process, and in a page shared with
//! hugectl, which can read it even after this process is killed.
#![expect(unsafe_code, reason = "refers to memory that is mapped later")]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use hugetools_contract::report_page::demands::bit;
use hugetools_contract::segment::Segment;

static BITS: AtomicU32 = AtomicU32::new(0);

/// The bits in the page shared with hugectl; null without one.
static SHARED_BITS: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Sets where the shared page has its bits.
pub fn set_shared_bits(bits: Option<&'static AtomicU32>) {
    let at = bits.map_or(ptr::null(), ptr::from_ref);
    SHARED_BITS.store(at.cast_mut(), Ordering::Release);
}

/// Notes that a segment doesn't meet its requirement.
pub fn note(segment: Segment) {
    let bit = bit(segment);
    BITS.fetch_or(bit, Ordering::Relaxed);
    // SAFETY: null, or a reference with static lifetime.
    if let Some(shared) = unsafe { SHARED_BITS.load(Ordering::Acquire).as_ref() } {
        shared.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Whether a segment doesn't meet its requirement.
pub fn is_noted(segment: Segment) -> bool {
    BITS.load(Ordering::Relaxed) & bit(segment) != 0
}

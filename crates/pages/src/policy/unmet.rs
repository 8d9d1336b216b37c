//! Bits for unmet requirements: in this process, and in a page shared with hugectl, which reads them
//! even after this process was killed.
#![expect(unsafe_code, reason = "refers to memory that is mapped later")]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use hugetools_contract::report_page::demands::bit;
use hugetools_contract::segment::Segment;

static BITS: AtomicU32 = AtomicU32::new(0);

static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Sets the word in the shared page.
pub fn set(word: Option<&'static AtomicU32>) {
    let at = word.map_or(ptr::null(), ptr::from_ref);
    WORD.store(at.cast_mut(), Ordering::Release);
}

/// Notes that a segment doesn't meet its requirement.
pub fn note(segment: Segment) {
    let bit = bit(segment);
    BITS.fetch_or(bit, Ordering::Relaxed);
    // SAFETY: null, or a reference with static lifetime.
    if let Some(word) = unsafe { WORD.load(Ordering::Acquire).as_ref() } {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Whether a segment doesn't meet its requirement.
pub fn is_noted(segment: Segment) -> bool {
    BITS.load(Ordering::Relaxed) & bit(segment) != 0
}

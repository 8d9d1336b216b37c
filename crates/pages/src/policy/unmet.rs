//! Bits for unmet requirements in a page shared with hugectl, which reads them even after this
//! process was killed.
#![expect(unsafe_code, reason = "refers to memory that is mapped later")]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Sets the word that holds the bits.
pub fn set(word: Option<&'static AtomicU32>) {
    let at = word.map_or(ptr::null(), ptr::from_ref);
    WORD.store(at.cast_mut(), Ordering::Release);
}

/// Sets a bit.
pub(crate) fn note(bit: u32) {
    // SAFETY: null, or a reference with static lifetime.
    if let Some(word) = unsafe { WORD.load(Ordering::Acquire).as_ref() } {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

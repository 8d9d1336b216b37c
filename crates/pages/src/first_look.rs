//! What is asked once of the kernel, while it can be: before the program confines
//! itself, and at the latest when there is a heap. A program that never allocates
//! is not kept waiting for it.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::{facts, side_stack, thp};

/// Takes it, unless it was taken. Until then a filter of system calls is supposed.
pub fn take() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !TAKEN.swap(true, Ordering::Relaxed) {
        side_stack::on_side_stack(|| thp::begin(facts::begin()));
    }
}

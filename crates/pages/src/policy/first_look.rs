//! What is asked once of the kernel, while it can be: before the program confines
//! itself or changes its root, and at the latest when there is a heap, shared memory
//! or another thing of ours. A program that comes to none is not kept waiting for it.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::kernel::facts;
use crate::policy::thp;
use crate::rt::side_stack;

/// Takes it, unless it was taken. Until then a filter of system calls is supposed.
#[inline]
pub fn take() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !TAKEN.load(Ordering::Relaxed) && !TAKEN.swap(true, Ordering::Relaxed) {
        look();
    }
}

#[cold]
#[inline(never)]
fn look() {
    side_stack::on_side_stack(|| thp::begin(facts::begin()));
}

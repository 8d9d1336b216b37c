//! Keeping others from writing to hugetlb memory from before it is copied until
//! the fork is done, so that the child gets all of it as it was at one moment.
//!
//! By `userfaultfd(2)`, where the process may use it: who writes waits in the
//! kernel, also one that is in a system call or has blocked all signals. The
//! forking thread itself must not write there.

use core::sync::atomic::{AtomicI32, Ordering};

use crate::sys::WriteProtection;
use crate::{facts, runs};

const NONE: i32 = -1;

/// The protection for the fork that is under way.
static PROTECTION: AtomicI32 = AtomicI32::new(NONE);

/// Protects all that a fork is about. `false`, with nothing protected, where the
/// process may not do that.
pub fn begin() -> bool {
    // A call that the program does not make may be deadly under a filter.
    if facts::has_filter() {
        return false;
    }
    let Ok(protection) = WriteProtection::open() else {
        return false;
    };
    let mut all = runs::writable()
        .flat_map(|window| runs::hugetlb(window).map(|units| window.range_of(&units)));
    if all.any(|range| protection.protect(&range).is_err()) {
        return false;
    }
    PROTECTION.store(protection.into_fd(), Ordering::Relaxed);
    true
}

/// After the fork in the parent: who waited goes on.
pub fn in_parent() {
    let Some(protection) = take() else {
        return;
    };
    for window in runs::writable() {
        for units in runs::hugetlb(window) {
            protection.release(&window.range_of(&units));
        }
    }
}

/// After the fork in the child, whose memory is not protected.
pub fn in_child() {
    drop(take());
}

fn take() -> Option<WriteProtection> {
    let fd = PROTECTION.swap(NONE, Ordering::Relaxed);
    (fd != NONE).then(|| WriteProtection::from_fd(fd))
}

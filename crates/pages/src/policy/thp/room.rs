//! How much memory may be advised in a limited memory control group: the first touch of a huge page
//! charges all of it, and the kernel kills a process beyond the limit.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::kernel::cgroup::{self, Headroom};
use crate::sys;

/// Bytes that may be advised before the control group is read again.
static ROOM: AtomicUsize = AtomicUsize::new(0);

/// Number of requests until the control group is read again, after it had too little left for huge
/// pages; 0 if it had enough at the last read.
static SCARCE: AtomicU32 = AtomicU32::new(0);

/// Value of [`SCARCE`] after such a read.
const RETRY_AFTER: u32 = 17;

/// Whether the control group had too little left for huge pages at the last read.
pub(crate) fn is_scarce() -> bool {
    SCARCE.load(Ordering::Relaxed) > 0
}

/// Reads the room at the start, before the files become unreadable.
pub(super) fn begin() {
    ROOM.store(read(), Ordering::Relaxed);
}

/// In a forked child, discards [`ROOM`] if it is limited: parent and child share the control group.
pub(crate) fn discard_room() {
    if is_limited() {
        ROOM.store(0, Ordering::Relaxed);
    }
}

/// Whether the last [`read`] found a limit.
pub(super) fn is_limited() -> bool {
    ROOM.load(Ordering::Relaxed) < usize::MAX / 4
}

/// Takes `len` bytes of the room; returns whether they fit.
pub(super) fn take(len: usize) -> bool {
    let less = |room: usize| room.checked_sub(len);
    let taken = ROOM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    if taken.is_ok() {
        return true;
    }
    let one_less = |left: u32| left.checked_sub(1).filter(|left| *left > 0);
    let skipped = SCARCE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    if skipped.is_ok() {
        return false;
    }
    let left = read().checked_sub(len);
    SCARCE.store(left.map_or(RETRY_AFTER, |_| 0), Ordering::Relaxed);
    if let Some(left) = left {
        ROOM.store(left, Ordering::Relaxed);
    }
    left.is_some()
}

/// Reads how many bytes may be advised: half of what the control group leaves, or 0 if unknown. If
/// the group is invisible: half of the machine's free memory or, if unknown, no limit, since the
/// kernel gives base pages by itself in a full group.
pub(super) fn read() -> usize {
    match cgroup::memory_left() {
        Headroom::NoLimit => usize::MAX / 2,
        Headroom::Bytes(left) => left / 2,
        Headroom::Hidden => sys::free_memory().unwrap_or(usize::MAX) / 2,
        Headroom::Unknown => 0,
    }
}

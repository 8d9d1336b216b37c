//! The program's own changes of memory that is not on pages of a pool: what it closes or
//! drops must not move to a pool at that moment. A copy of it could not be read, or would
//! be open again, or have its contents back.
//!
//! Whoever changes memory says so before it looks at what stands there, and whoever moves
//! it up asks once it has taken a unit: one of the two sees the other.

use core::sync::atomic::{AtomicU32, Ordering, fence};

/// How many changes are under way.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// A change, as long as this lives.
#[derive(Debug)]
pub struct Change(());

impl Change {
    /// Before anything is looked at.
    pub fn begin() -> Change {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        Change(())
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Release);
    }
}

/// Whether one is under way; to be asked once a unit is taken.
pub(super) fn are_under_way() -> bool {
    fence(Ordering::SeqCst);
    UNDER_WAY.load(Ordering::Acquire) > 0
}

/// In the child of a fork: the threads that were at it did not come along.
pub(crate) fn forget_others() {
    UNDER_WAY.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_until_its_end() {
        let outer = Change::begin();
        // In a handler of a signal.
        drop(Change::begin());
        assert!(are_under_way());
        drop(outer);
    }
}

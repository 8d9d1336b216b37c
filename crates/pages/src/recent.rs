//! What happened a moment ago. A fault that was raised just before memory was
//! replaced is delivered to its thread after that; trying the access again
//! cures it. A fault that comes later has another cause.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::sys;

/// How long a thread may take from its fault to its signal handler.
const MOMENT: u64 = 1000;

/// When something happened last.
#[derive(Debug, Default)]
pub struct Recent(AtomicU64);

impl Recent {
    /// It has not happened yet.
    pub const fn never() -> Recent {
        Recent(AtomicU64::new(0))
    }

    /// It happens now.
    pub fn mark(&self) {
        self.0.store(sys::now().max(1), Ordering::SeqCst);
    }

    /// Whether it happened less than a second ago.
    pub fn was_just_now(&self) -> bool {
        match self.0.load(Ordering::SeqCst) {
            0 => false,
            then => sys::now().saturating_sub(then) < MOMENT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_passes() {
        let recent = Recent::never();
        assert!(!recent.was_just_now());
        recent.mark();
        assert!(recent.was_just_now());
        recent.0.store(sys::now() - MOMENT, Ordering::SeqCst);
        assert!(!recent.was_just_now());
    }
}

//! Counters for the report.

use core::sync::atomic::{AtomicU64, Ordering};

use hugetools_contract::report::NextTouch;

static TOUCHED: AtomicU64 = AtomicU64::new(0);
static LOCAL_BEFORE: AtomicU64 = AtomicU64::new(0);
static LOCAL_AFTER: AtomicU64 = AtomicU64::new(0);

/// Counts a touched piece, and whether it was on the thread's node before and after its migration.
pub(super) fn count(bytes: usize, was_local: bool, is_local: bool) {
    let add = |counter: &AtomicU64, counts: bool| {
        let bytes = if counts { bytes as u64 } else { 0 };
        counter.fetch_add(bytes, Ordering::Relaxed);
    };
    add(&TOUCHED, true);
    add(&LOCAL_BEFORE, was_local);
    add(&LOCAL_AFTER, is_local);
}

/// The counters of this process; `None` if nothing was touched.
pub fn figures() -> Option<NextTouch> {
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let figures = NextTouch {
        touched: load(&TOUCHED),
        local_before: load(&LOCAL_BEFORE),
        local_after: load(&LOCAL_AFTER),
    };
    (figures.touched > 0).then_some(figures)
}

//! Figures for the report.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the pieces that were touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// All of them.
    pub touched: usize,
    /// Those on the node of their toucher before.
    pub local_before: usize,
    /// Likewise afterwards.
    pub local_after: usize,
}

static TOUCHED: AtomicUsize = AtomicUsize::new(0);
static LOCAL_BEFORE: AtomicUsize = AtomicUsize::new(0);
static LOCAL_AFTER: AtomicUsize = AtomicUsize::new(0);

/// Counts a piece.
pub(super) fn count(bytes: usize, was_local: bool, is_local: bool) {
    let add = |counter: &AtomicUsize, counts: bool| {
        counter.fetch_add(if counts { bytes } else { 0 }, Ordering::Relaxed);
    };
    add(&TOUCHED, true);
    add(&LOCAL_BEFORE, was_local);
    add(&LOCAL_AFTER, is_local);
}

/// The figures of this process; `None` if nothing was touched.
pub fn figures() -> Option<Figures> {
    let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let figures = Figures {
        touched: load(&TOUCHED),
        local_before: load(&LOCAL_BEFORE),
        local_after: load(&LOCAL_AFTER),
    };
    (figures.touched > 0).then_some(figures)
}

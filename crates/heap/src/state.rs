//! The state of the heap: one byte, read by each call of malloc.

use core::sync::atomic::{AtomicU8, Ordering};

/// mimalloc has an arena.
const READY: u8 = 0;
/// Ready, and freed memory waits for a purge: some frees check the clock.
const WATCHING: u8 = 1;
/// Like [`WATCHING`], and each malloc checks the clock.
const WATCHING_CLOSELY: u8 = 2;
/// No arena yet, or the program keeps another malloc.
const UNREADY: u8 = 3;
/// A thread is starting the heap.
const STARTING: u8 = 4;

static STATE: AtomicU8 = AtomicU8::new(UNREADY);

/// Work for a call of malloc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Start the heap, or use another malloc.
    Start,
    /// Check the clock.
    CheckClock,
}

/// Returns the work that is due, usually none.
#[inline(always)]
pub(crate) fn due() -> Option<Due> {
    let state = STATE.load(Ordering::Acquire);
    match state {
        READY | WATCHING => None,
        WATCHING_CLOSELY => Some(Due::CheckClock),
        _ => Some(Due::Start),
    }
}

/// Whether mimalloc has an arena.
pub(crate) fn is_ready() -> bool {
    STATE.load(Ordering::Acquire) <= WATCHING_CLOSELY
}

/// Whether freed memory waits for a purge.
pub(crate) fn is_watching() -> bool {
    matches!(STATE.load(Ordering::Relaxed), WATCHING | WATCHING_CLOSELY)
}

/// Claims the start of the heap; returns whether the caller must start it.
pub(crate) fn begin() -> bool {
    STATE
        .compare_exchange(UNREADY, STARTING, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Publishes that the heap has started.
pub(crate) fn finish() {
    STATE.store(READY, Ordering::Release);
}

/// Makes calls check the clock: each malloc if `closely`, else some frees.
pub(crate) fn watch(closely: bool) {
    let state = if closely { WATCHING_CLOSELY } else { WATCHING };
    if is_ready() && STATE.load(Ordering::Relaxed) != state {
        STATE.store(state, Ordering::Release);
    }
}

pub(crate) fn stop_watching() {
    if is_ready() {
        STATE.store(READY, Ordering::Release);
    }
}

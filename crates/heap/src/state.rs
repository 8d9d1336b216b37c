//! How far the heap is: one byte, read by each call of malloc.

use core::sync::atomic::{AtomicU8, Ordering};

/// mimalloc has no arena yet, or the program keeps another malloc.
const UNREADY: u8 = 0;
/// A thread is starting the heap.
const STARTING: u8 = 1;
/// mimalloc has an arena.
const READY: u8 = 2;
/// The same, and freed memory waits for a purge: some calls look at the clock.
const WATCHING: u8 = 3;
/// The same, and the next call looks at the clock.
const WATCHING_CLOSELY: u8 = 4;

static STATE: AtomicU8 = AtomicU8::new(UNREADY);

/// What is to be seen to when malloc is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// The heap is to be started, or is another malloc's.
    Start,
    /// The clock is to be looked at.
    Look,
}

/// What is due; usually nothing.
#[inline(always)]
pub(crate) fn due() -> Option<Due> {
    let state = STATE.load(Ordering::Acquire);
    match state.wrapping_sub(READY) <= WATCHING - READY {
        true => None,
        false if state == WATCHING_CLOSELY => Some(Due::Look),
        false => Some(Due::Start),
    }
}

/// Whether mimalloc has an arena.
pub(crate) fn is_ready() -> bool {
    STATE.load(Ordering::Acquire) >= READY
}

/// Whether freed memory waits for a purge.
pub(crate) fn is_watching() -> bool {
    STATE.load(Ordering::Relaxed) >= WATCHING
}

/// Whether the caller is the thread that starts the heap.
pub(crate) fn begin() -> bool {
    STATE
        .compare_exchange(UNREADY, STARTING, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Publishes that the heap has started.
pub(crate) fn finish() {
    STATE.store(READY, Ordering::Release);
}

/// Starts to watch; `closely` until the next call.
pub(crate) fn watch(closely: bool) {
    let state = if closely { WATCHING_CLOSELY } else { WATCHING };
    if is_ready() && STATE.load(Ordering::Relaxed) != state {
        STATE.store(state, Ordering::Release);
    }
}

/// Ends the watch.
pub(crate) fn rest() {
    if is_ready() {
        STATE.store(READY, Ordering::Release);
    }
}

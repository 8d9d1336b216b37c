//! How far the heap is: one byte, read by each call of malloc.

use core::sync::atomic::{AtomicU8, Ordering};

const UNREADY: u8 = 0;
const STARTING: u8 = 1;
const READY: u8 = 2;
const WATCHING: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNREADY);

/// How far the heap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// mimalloc has no arena yet.
    Unready,
    /// mimalloc has an arena.
    Ready,
    /// The same, and freed memory waits for a purge.
    Watching,
}

/// How far the heap is now.
#[inline(always)]
pub(crate) fn now() -> State {
    match STATE.load(Ordering::Acquire) {
        READY => State::Ready,
        WATCHING => State::Watching,
        _ => State::Unready,
    }
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

/// Starts or ends the watch for a purge.
pub(crate) fn watch(yes: bool) {
    let (from, to) = match yes {
        true => (READY, WATCHING),
        false => (WATCHING, READY),
    };
    if STATE.load(Ordering::Relaxed) == from {
        let _ = STATE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

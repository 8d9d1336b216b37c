//! How far the heap is: whether it has memory, and whether the calls of the
//! program have a look at what is due.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::mimalloc;

const UNREADY: u8 = 0;
const STARTING: u8 = 1;
const READY: u8 = 2;
const ATTENTIVE: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNREADY);

/// How far the heap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It has no memory yet.
    Unready,
    /// It has.
    Ready,
    /// It has, and something may be due to be given back, or to be joined.
    Attentive,
}

/// How far the heap is now.
#[inline(always)]
pub(crate) fn now() -> State {
    match STATE.load(Ordering::Acquire) {
        READY => State::Ready,
        ATTENTIVE => State::Attentive,
        _ => State::Unready,
    }
}

/// Whether mimalloc has its first extent, so that what it maps from now on are
/// blocks of the program.
pub(crate) fn is_ready() -> bool {
    now() != State::Unready
}

/// Whether the caller is the one to give the heap its memory.
pub(crate) fn begin() -> bool {
    STATE
        .compare_exchange(UNREADY, STARTING, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Notes that it has done so.
pub(crate) fn finish() {
    STATE.store(READY, Ordering::Release);
}

/// Whether each call of the program has a look at what is due.
pub(crate) fn attend(yes: bool) {
    let (from, to) = match yes {
        true => (READY, ATTENTIVE),
        false => (ATTENTIVE, READY),
    };
    let _ = STATE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
}

/// Whether what is freed is given back at once, not after a while.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// From now on what is freed is given back at once, not after a while.
pub(crate) fn give_back_at_once() {
    AT_ONCE.store(true, Ordering::Relaxed);
    mimalloc::mi_option_set(mimalloc::PURGE_DELAY, 0);
}

/// Whether that was said.
pub(crate) fn gives_back_at_once() -> bool {
    AT_ONCE.load(Ordering::Relaxed)
}

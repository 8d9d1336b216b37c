//! Purges an idle heap. mimalloc purges freed memory after a second, but only when another page
//! becomes free. So while freed memory waits, each malloc checks the clock; if the program is busy,
//! only a few frees do.
//!
//! mimalloc reads the clock whenever it frees a page: see `wrappers`.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hugetools_pages::extent::usage;
use hugetools_pages::sys;

use crate::{mimalloc, state};

/// How long (ms) freed memory waits: longer than mimalloc's own delay, so that a busy program
/// purges by itself.
const DELAY: u64 = 1200;

/// Smaller heaps (bytes) aren't purged.
const MIN_HEAP: usize = 4 << 20;

/// A program is busy after this many checks by malloc in one tick of the clock (1 to 10 ms).
const BUSY: u32 = 250;

/// When to purge (monotonic ms); 0 for never.
static DUE: AtomicU64 = AtomicU64::new(0);

/// The last tick (monotonic ms), and malloc's checks in it.
static TICK: AtomicU64 = AtomicU64::new(0);
static CHECKS: AtomicU32 = AtomicU32::new(0);

/// Notes that memory became free.
pub(crate) fn note(now: u64) {
    if DUE.load(Ordering::Relaxed) == 0 {
        if usage::in_use() < MIN_HEAP {
            return;
        }
        DUE.store(now + DELAY, Ordering::Relaxed);
    }
    watch(now);
}

/// Checks the clock at a call of malloc.
#[cold]
pub(crate) fn check_at_malloc() {
    CHECKS.fetch_add(1, Ordering::Relaxed);
    check_at_free();
}

/// Checks the clock at a call of free.
#[cold]
pub(crate) fn check_at_free() {
    let now = sys::coarse_now();
    watch(now);
    purge_if_due(now);
}

/// Chooses which calls check the clock.
fn watch(now: u64) {
    if TICK.load(Ordering::Relaxed) != now {
        TICK.store(now, Ordering::Relaxed);
        CHECKS.store(0, Ordering::Relaxed);
    }
    state::watch(CHECKS.load(Ordering::Relaxed) < BUSY);
}

/// Purges if due; stops watching if nothing waits.
fn purge_if_due(now: u64) {
    let due = DUE.load(Ordering::Relaxed);
    if due == 0 {
        state::stop_watching();
    } else if now >= due
        && DUE
            .compare_exchange(due, 0, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    {
        mimalloc::mi_collect(true);
        // The collection freed pages itself, which set this.
        DUE.store(0, Ordering::Relaxed);
        state::stop_watching();
    }
}

//! Purges an idle heap. mimalloc purges freed memory after a second, but only when another page
//! becomes free. So while freed memory waits, each malloc checks the clock if calls are rare, and
//! otherwise one free in about 1,000.
//!
//! mimalloc reads the clock whenever it frees a page: see `wrappers`.

use core::sync::atomic::{AtomicU64, Ordering};

use hugetools_pages::extent::usage;
use hugetools_pages::sys;

use crate::{mimalloc, state};

/// How long (ms) freed memory waits: longer than mimalloc's own delay, so that a busy program
/// purges by itself.
const DELAY: u64 = 1200;

/// Smaller heaps (bytes) aren't purged.
const WORTH: usize = 4 << 20;

/// Calls of malloc are rare if more time (ms) passes between two.
const SELDOM: u64 = 10;

/// When to purge (monotonic ms); 0 for never.
static DUE: AtomicU64 = AtomicU64::new(0);

/// When malloc last checked the clock.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Notes that memory became free. If calls of malloc are rare, the next one checks the clock.
pub(crate) fn note(now: u64) {
    if DUE.load(Ordering::Relaxed) == 0 {
        if usage::in_use() < WORTH {
            return;
        }
        DUE.store(now + DELAY, Ordering::Relaxed);
    }
    state::watch(is_rare(now));
}

/// Checks the clock at a call of malloc.
#[cold]
pub(crate) fn check() {
    let now = sys::about_now();
    state::watch(is_rare(now));
    LAST.store(now, Ordering::Relaxed);
    purge_if_due(now);
}

fn is_rare(now: u64) -> bool {
    now.saturating_sub(LAST.load(Ordering::Relaxed)) > SELDOM
}

/// Purges if due; stops watching if nothing waits.
pub(crate) fn purge_if_due(now: u64) {
    let due = DUE.load(Ordering::Relaxed);
    if due == 0 {
        state::stop_watching();
    } else if now >= due
        && DUE
            .compare_exchange(due, 0, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    {
        state::stop_watching();
        mimalloc::mi_collect(true);
    }
}

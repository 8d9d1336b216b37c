//! Purges an idle heap. mimalloc purges freed memory after a second, but only when another page
//! becomes free. So while freed memory waits, some calls of malloc check the clock.
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

/// If more time (ms) passes between two checks, the next call checks, too.
const SELDOM: u64 = 10;

/// When to purge (monotonic ms); 0 for never.
static DUE: AtomicU64 = AtomicU64::new(0);

/// Time of the last check.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Notes that memory became free.
pub(crate) fn note(now: u64) {
    if DUE.load(Ordering::Relaxed) == 0 && usage::in_use() >= WORTH {
        DUE.store(now + DELAY, Ordering::Relaxed);
        state::watch(true);
    }
}

/// Checks the clock, and purges if due.
#[cold]
pub(crate) fn check() {
    let now = sys::about_now();
    let last = LAST.swap(now, Ordering::Relaxed);
    let due = DUE.load(Ordering::Relaxed);
    if due == 0 {
        state::stop_watching();
    } else if now < due {
        state::watch(now.saturating_sub(last) > SELDOM);
    } else if DUE
        .compare_exchange(due, 0, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
    {
        state::stop_watching();
        mimalloc::mi_collect(true);
    }
}

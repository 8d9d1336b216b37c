//! Purges a quiet heap. mimalloc purges freed memory after a second, but only when another
//! page becomes free; a quiet program frees none. So while freed memory waits, some calls
//! of malloc look at the clock.
//!
//! mimalloc reads the clock whenever it frees a page: see `wrappers.rs`.

use core::sync::atomic::{AtomicU64, Ordering};

use hugetools_pages::extent::usage;
use hugetools_pages::sys;

use crate::{mimalloc, state};

/// How long (ms) freed memory waits: longer than mimalloc's own delay, so that a busy
/// program purges by itself.
const DELAY: u64 = 1200;

/// A smaller heap (bytes) is not watched.
const WORTH: usize = 4 << 20;

/// If more time (ms) passes between two looks at the clock, the next call looks, too.
const SELDOM: u64 = 10;

/// When to purge (ms of the monotonic clock); 0 for never.
static DUE: AtomicU64 = AtomicU64::new(0);

/// When the clock was read last.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Notes at a time that memory has become free.
pub(crate) fn note(now: u64) {
    if DUE.load(Ordering::Relaxed) == 0 && usage::in_use() >= WORTH {
        DUE.store(now + DELAY, Ordering::Relaxed);
        state::watch(true);
    }
}

/// Looks at the clock, and purges if that is due.
#[cold]
pub(crate) fn look() {
    let now = sys::about_now();
    let last = LAST.swap(now, Ordering::Relaxed);
    let due = DUE.load(Ordering::Relaxed);
    if due == 0 {
        state::rest();
    } else if now < due {
        state::watch(now.saturating_sub(last) > SELDOM);
    } else if DUE
        .compare_exchange(due, 0, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
    {
        state::rest();
        mimalloc::mi_collect(true);
    }
}

//! Purges a quiet heap. mimalloc purges freed memory after a second, but only when another
//! page becomes free; a quiet program frees none. So while freed memory waits, some calls
//! of malloc look at the clock.
//!
//! mimalloc reads the clock whenever it frees a page: see `wrappers.rs`.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use hugetools_pages::extent::usage;
use hugetools_pages::sys;

use crate::mimalloc;
use crate::state;

/// How long (ms) freed memory waits: longer than mimalloc's own delay, so that a busy
/// program purges by itself.
const DELAY: u64 = 1200;

/// A smaller heap (bytes) is not watched.
const WORTH: usize = 4 << 20;

/// While calls come quickly, one in so many reads the clock.
const CALLS: u32 = 64;

/// Calls come quickly if this time (ms) or less passes between two reads of the clock.
const QUICK: u64 = 10;

/// When to purge (ms of the monotonic clock); 0 for never.
static DUE: AtomicU64 = AtomicU64::new(0);

/// When the clock was read last.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Whether the next call reads the clock.
static AT_NEXT: AtomicBool = AtomicBool::new(false);

/// Calls so far, in several places so that threads don't share a cache line.
static COUNTS: [Count; 64] = [const { Count(AtomicU32::new(0)) }; 64];

#[repr(align(64))]
struct Count(AtomicU32);

/// Counts a call; whether it reads the clock. The place is chosen by the address of the
/// stack. A lost count does no harm.
#[inline(always)]
fn is_turn() -> bool {
    let here = 0_u8;
    let at = (&raw const here) as usize;
    let Count(count) = &COUNTS[(at >> 16 ^ at >> 23) % COUNTS.len()];
    let next = count.load(Ordering::Relaxed).wrapping_add(1);
    count.store(next, Ordering::Relaxed);
    next % CALLS == 0
}

/// Notes at a time that a page has become free.
pub(crate) fn note(now: u64) {
    if usage::in_use() < WORTH {
        return;
    }
    if DUE.load(Ordering::Relaxed) == 0 {
        DUE.store(now + DELAY, Ordering::Relaxed);
        AT_NEXT.store(true, Ordering::Relaxed);
    }
    state::watch(true);
}

/// Called by malloc while freed memory waits.
#[inline(always)]
pub(crate) fn count() {
    if is_turn() || AT_NEXT.load(Ordering::Relaxed) {
        look();
    }
}

#[cold]
#[inline(never)]
fn look() {
    let now = sys::about_now();
    let last = LAST.swap(now, Ordering::Relaxed);
    AT_NEXT.store(now.saturating_sub(last) > QUICK, Ordering::Relaxed);
    let due = DUE.load(Ordering::Relaxed);
    let is_due = due != 0 && now >= due;
    let take = || DUE.compare_exchange(due, 0, Ordering::Relaxed, Ordering::Relaxed);
    if is_due && take().is_ok() {
        state::watch(false);
        mimalloc::mi_collect(true);
    }
}

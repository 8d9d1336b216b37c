//! Where a control group limits memory: how large the heap may become in it.
//!
//! An allocator that keeps what is free by size and by thread takes more memory than one
//! that fills every gap, and who is beyond the limit is killed. So while the group has
//! little to spare, blocks come from where they would come from without us.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hugetools_contract::memory;
use hugetools_contract::report::reasons;
use hugetools_contract::said::Kind;

use crate::extent::stats::Stats;
use crate::kernel::cgroup::{self, Left};
use crate::kernel::{facts, procfile};
use crate::rt::message::say_news;
use crate::{config, sys};

/// How long an answer holds that there is nothing to spare, in milliseconds.
const PAUSE: u64 = 500;

/// How long blocks come from elsewhere without a try, in milliseconds.
const SHORT_PAUSE: u64 = 10;

/// Less is nothing.
const LEAST: usize = 1 << 20;

/// Of what there is to spare one of so many parts is taken before the next look: other
/// threads and processes of the group grow meanwhile.
const PART: usize = 8;

/// Whether a group limits memory.
static LIMITED: AtomicBool = AtomicBool::new(false);

/// Bytes that may be taken before the next look.
static ROOM: AtomicUsize = AtomicUsize::new(0);

/// What there was to spare besides, at the last look that told: for when none can tell.
static KNOWN: AtomicUsize = AtomicUsize::new(0);

/// Until when there is nothing to spare, by the monotonic clock; 0 if there was.
static TIGHT: AtomicU64 = AtomicU64::new(0);

/// Whether blocks came from elsewhere.
static STRAINED: AtomicBool = AtomicBool::new(false);

/// Until when there is no try.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Whether there is a limit, when the heap begins. Where blocks are to fail rather than lie
/// on other pages than those that were asked for, they do not come from elsewhere either.
pub(super) fn begin(is_limited: bool) {
    if is_limited && !config::heap_is_strict() && config::share_of_heap().is_none() {
        look(0);
        LIMITED.store(true, Ordering::Release);
    }
}

/// Blocks come from nowhere else: the heap may have what it needs.
pub fn end() {
    LIMITED.store(false, Ordering::Release);
}

/// Whether a group limited memory when the heap began.
pub fn is_limited() -> bool {
    LIMITED.load(Ordering::Acquire)
}

/// In a child, which has the group's memory beside its parent: it looks before it takes.
pub(super) fn look_again() {
    ROOM.store(0, Ordering::Relaxed);
    REGARDLESS.store(0, Ordering::SeqCst);
}

/// Whether the heap may have so much more of ordinary memory.
pub fn may_have(len: usize) -> bool {
    let take = |room: usize| room.checked_sub(len);
    let takes = || ROOM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    !is_kept() || takes().is_ok() || !is_tight() && look(len)
}

/// Whether a look of late has found that there is nothing to spare.
pub fn is_tight() -> bool {
    is_until(&TIGHT)
}

/// Whether blocks came from elsewhere: what is free is worth more to the group than to the
/// heap from then on.
pub fn is_strained() -> bool {
    STRAINED.load(Ordering::Relaxed)
}

/// Notes that a block could not be had for that.
pub fn note_refused() {
    REFUSED.store(sys::about_now() + SHORT_PAUSE, Ordering::Relaxed);
    STRAINED.store(true, Ordering::Relaxed);
    say();
}

/// Whether that was so just now: the next ones come from elsewhere, too.
pub fn is_refusing() -> bool {
    is_kept() && is_until(&REFUSED)
}

/// How many calls go on regardless of the limit.
static REGARDLESS: AtomicUsize = AtomicUsize::new(0);

/// Lets the heap have what a call needs all the same, since nobody else has it; what other
/// threads need meanwhile, too.
pub fn regardless<T>(call: impl FnOnce() -> T) -> T {
    REGARDLESS.fetch_add(1, Ordering::SeqCst);
    let result = call();
    let less = |count: usize| count.checked_sub(1);
    // A child may have begun in between.
    let _ = REGARDLESS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    result
}

/// Whether the limit is to be kept just now.
pub fn is_kept() -> bool {
    is_limited() && REGARDLESS.load(Ordering::SeqCst) == 0
}

fn is_until(time: &AtomicU64) -> bool {
    match time.load(Ordering::Relaxed) {
        0 => false,
        until if sys::about_now() < until => true,
        _ => {
            time.store(0, Ordering::Relaxed);
            false
        }
    }
}

#[cold]
fn look(len: usize) -> bool {
    let spared = spared().unwrap_or(KNOWN.load(Ordering::Relaxed));
    match spared.checked_sub(len) {
        Some(rest) if spared >= LEAST => {
            ROOM.store(rest / PART, Ordering::Relaxed);
            KNOWN.store(rest - rest / PART, Ordering::Relaxed);
            true
        }
        _ => {
            KNOWN.store(0, Ordering::Relaxed);
            TIGHT.store(sys::about_now() + PAUSE, Ordering::Relaxed);
            false
        }
    }
}

/// What the group has to spare; `None` where it cannot be told, any more or just now.
fn spared() -> Option<usize> {
    let threads = procfile::look(|| Some(facts::threads()))?;
    match cgroup::memory_beside(|limit| memory::spared(limit, threads as u64)) {
        Left::NoLimit => Some(usize::MAX / 2),
        Left::Bytes(left) => Some(left.saturating_sub(untouched())),
        Left::Hidden | Left::Unknown => None,
    }
}

/// What of the heap is taken on ordinary memory, but was never touched: the group does not
/// count it yet.
fn untouched() -> usize {
    let stats = Stats::take();
    let ordinary = stats.taken.saturating_sub(stats.hugetlb);
    ordinary.saturating_sub(facts::resident_memory().unwrap_or(0))
}

/// Says once what it comes to.
fn say() {
    static SAID: AtomicBool = AtomicBool::new(false);
    let level = || config::level_of_news(Kind::Thp);
    say_news(&SAID, level, format_args!("heap: {}", reasons::FROM_LIBC));
}

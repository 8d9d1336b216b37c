//! Giving back in a program that has become quiet.
//!
//! mimalloc keeps what was freed for a second, in case it is needed again, and
//! looks whether that is over when its next page becomes free. A program that
//! has freed all of its memory has no such page: so here every sixteenth call
//! of the program looks at the clock, for as long as something may wait.
//!
//! mimalloc asks for the time whenever memory has become free, which is how
//! this module learns of it.
#![expect(unsafe_code, reason = "stands before a function of libc")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hugetools_pages::extent::usage;
use hugetools_pages::sys;

use crate::mimalloc::{self, state};

/// How long what was freed is kept, in milliseconds: longer than mimalloc
/// itself waits, so that a busy program never comes here.
const KEPT: u64 = 1200;

/// The same where it is not to be kept at all: so long stay the pages of which
/// mimalloc holds one ready for each size of block.
const HARDLY_KEPT: u64 = 100;

/// A heap of less is not worth it, unless nothing is to be kept.
const WORTH: usize = usage::SMALL_HEAP;

/// One call in so many looks at the clock, while they come quickly. In a program
/// that calls seldom each does, and so does the first after memory has become
/// free.
const CALLS: u32 = 16;

/// Calls come quickly where between two looks at the clock so many milliseconds
/// pass at most: a few of its ticks.
const QUICK: u64 = 10;

/// Whether the next call is to look.
static AT_NEXT: AtomicBool = AtomicBool::new(false);

/// When was the last look.
static LAST: AtomicU64 = AtomicU64::new(0);

/// When to give back, in milliseconds of the monotonic clock; 0 for never.
static DUE: AtomicU64 = AtomicU64::new(0);

/// The thread that gives back just now: what it frees by that needs no notice.
static GIVER: AtomicUsize = AtomicUsize::new(0);

/// Calls so far: in several places, so that threads do not fight for one.
static COUNTS: [Count; PLACES] = [const { Count(AtomicU32::new(0)) }; PLACES];

const PLACES: usize = 64;

#[repr(align(64))]
struct Count(AtomicU32);

impl Count {
    /// The place of this thread, by where its stack is: that costs nothing,
    /// and a thread that has several places counts as well.
    #[inline(always)]
    fn mine() -> &'static Count {
        let here = 0_u8;
        let at = (&raw const here) as usize;
        &COUNTS[(at >> 16 ^ at >> 23) % PLACES]
    }

    /// Counts a call; whether it is one that looks. Two threads at one place
    /// may lose a count.
    #[inline(always)]
    fn is_turn(&self) -> bool {
        let count = self.0.load(Ordering::Relaxed).wrapping_add(1);
        self.0.store(count, Ordering::Relaxed);
        count % CALLS == 0
    }
}

/// Notes at a time that memory may have become free.
fn note(now: u64) {
    if !is_worth_it() || is_giver() {
        return;
    }
    let due = now + kept();
    let _ = DUE.compare_exchange(0, due, Ordering::Relaxed, Ordering::Relaxed);
    if !AT_NEXT.load(Ordering::Relaxed) {
        AT_NEXT.store(true, Ordering::Relaxed);
    }
    state::attend(true);
}

fn is_worth_it() -> bool {
    usage::in_use() >= WORTH || state::gives_back_at_once()
}

fn kept() -> u64 {
    match state::gives_back_at_once() {
        true => HARDLY_KEPT,
        false => KEPT,
    }
}

/// Notes that memory was given back: what follows waits its own time.
pub(crate) fn gave() {
    if !is_giver() {
        DUE.store(0, Ordering::Relaxed);
        note(sys::about_now());
    }
}

fn is_giver() -> bool {
    GIVER.load(Ordering::Relaxed) == sys::thread_name()
}

/// Called before an allocation while something may wait.
#[inline(always)]
pub(crate) fn count() {
    if Count::mine().is_turn() || AT_NEXT.load(Ordering::Relaxed) {
        look();
    }
}

#[cold]
#[inline(never)]
fn look() {
    let now = sys::about_now();
    let last = LAST.load(Ordering::Relaxed);
    AT_NEXT.store(now.saturating_sub(last) > QUICK, Ordering::Relaxed);
    if now == last {
        // Nothing has become due within a tick.
        return;
    }
    LAST.store(now, Ordering::Relaxed);
    let due = DUE.load(Ordering::Relaxed);
    if due != 0 && now >= due {
        give(due);
    }
    state::attend(false);
    if DUE.load(Ordering::Relaxed) != 0 {
        state::attend(true);
    }
}

/// Gives back what is free, unless another thread does. What others free
/// meanwhile may be missed: where something was given, another look follows.
fn give(due: u64) {
    let mine = DUE.compare_exchange(due, 0, Ordering::Relaxed, Ordering::Relaxed);
    if mine.is_err() {
        return;
    }
    let before = usage::in_use();
    GIVER.store(sys::thread_name(), Ordering::Relaxed);
    mimalloc::mi_collect(true);
    GIVER.store(0, Ordering::Relaxed);
    if usage::in_use() < before {
        note(sys::about_now());
    }
}

/// Gives back otherwise than here: nothing of it waits, and what does wait for the
/// clock waits no longer and no shorter.
pub(crate) fn unnoticed(work: impl FnOnce()) {
    GIVER.store(sys::thread_name(), Ordering::Relaxed);
    work();
    GIVER.store(0, Ordering::Relaxed);
}

/// mimalloc's look at the clock. It wants milliseconds and asks often, so it
/// gets the clock of the last tick.
///
/// # Safety
/// As for `clock_gettime(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_clock_gettime(
    _clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> c_int {
    let now = sys::about_now();
    let part = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let told = libc::timespec {
        tv_sec: part(now / 1000),
        tv_nsec: part(now % 1000 * 1_000_000),
    };
    // SAFETY: as the caller says.
    unsafe { time.write(told) };
    if state::is_ready() {
        note(now);
    }
    0
}

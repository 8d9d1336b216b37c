//! Forks that the kernel refuses for want of a huge page.
//!
//! It copies pages that a device writes to at the fork itself, since the parent must
//! keep its own, and says `ENOMEM` where the pool has none left for that. Whether one
//! does is asked before, but it may come a moment later, or be another process's, or
//! other threads may be at the pages that were to be copied. So the thread forks again:
//! then all pages beside a device that is known by now are copied for the child, while
//! others write if need be, and the last time all pages are.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sys::{self, Errno};

/// Whether a fork of this process, or of one that it was forked from, has met pages of
/// pools. They may all be gone when the kernel has refused: by another thread's fork.
static HAD_PAGES: AtomicBool = AtomicBool::new(false);

/// Whether a thread of ours may have taken the place of a child, where there may be so many.
static TOOK_A_PLACE: AtomicBool = AtomicBool::new(false);

/// So often is a fork made again.
const TIMES: usize = 2;

/// So many threads at most have forks made again at the same time; what others are
/// refused stays refused.
const MOST: usize = 16;

/// A fork that is made again.
struct Place {
    /// The thread that forks, by name; 0 for an unused place.
    thread: AtomicUsize,
    /// How often it may still do so for want of pages.
    left: AtomicUsize,
    /// Whether no thread looks on.
    unwatched: AtomicBool,
}

/// Why a fork was refused that may do better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Pages,
    Threads,
}

impl Refusal {
    fn of(result: c_int) -> Option<Refusal> {
        match sys::errno() {
            _ if result != -1 => None,
            Errno(libc::ENOMEM) => HAD_PAGES.load(Ordering::Relaxed).then_some(Refusal::Pages),
            Errno(libc::EAGAIN) => TOOK_A_PLACE
                .swap(false, Ordering::Relaxed)
                .then_some(Refusal::Threads),
            _ => None,
        }
    }
}

static PLACES: [Place; MOST] = [const { Place::none() }; MOST];

/// Which of the tries a fork is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Try {
    /// Nothing was refused.
    First,
    /// The kernel has refused it.
    Again,
    /// It has refused it again, and what it says now holds.
    Last,
}

impl Place {
    const fn none() -> Place {
        Place {
            thread: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            unwatched: AtomicBool::new(false),
        }
    }

    /// A place for this thread, where one is free.
    fn take() -> Option<&'static Place> {
        let me = sys::thread_name();
        PLACES.iter().find(|place| {
            let taken = place
                .thread
                .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed);
            taken.is_ok()
        })
    }

    fn of_this_thread() -> Option<&'static Place> {
        let me = sys::thread_name();
        let is_mine = |place: &&Place| place.thread.load(Ordering::Relaxed) == me;
        PLACES.iter().find(is_mine)
    }
}

/// Runs `fork`, and again where that helps. Its result, or -1 with `errno`, as
/// `fork(2)`.
pub fn again_if_refused(fork: impl Fn() -> c_int) -> c_int {
    let before = sys::errno();
    let result = fork();
    let Some(refusal) = Refusal::of(result) else {
        return result;
    };
    // A handler of a signal that forks meanwhile is in the middle of another: one
    // place is enough for both.
    if Place::of_this_thread().is_some() {
        return result;
    }
    let Some(place) = Place::take() else {
        return result;
    };
    let result = again(place, &fork, refusal);
    // In the child, too.
    place.thread.store(0, Ordering::Release);
    if result != -1 {
        sys::set_errno(before);
    }
    result
}

fn again(place: &Place, fork: &impl Fn() -> c_int, first: Refusal) -> c_int {
    let (mut left, mut unwatched) = (TIMES, false);
    let (mut result, mut refusal) = (-1, Some(first));
    while let Some(why) = refusal {
        match why {
            Refusal::Pages if left > 0 => left -= 1,
            Refusal::Threads if !unwatched => unwatched = true,
            _ => break,
        }
        place.left.store(left, Ordering::Relaxed);
        place.unwatched.store(unwatched, Ordering::Relaxed);
        result = fork();
        refusal = Refusal::of(result);
    }
    result
}

/// Notes that a child would inherit pages of pools, were nothing done about it.
pub(super) fn note_pages() {
    HAD_PAGES.store(true, Ordering::Relaxed);
}

/// Which try this thread's fork is.
pub(super) fn this_try() -> Try {
    match Place::of_this_thread().map(|place| place.left.load(Ordering::Relaxed)) {
        None | Some(TIMES) => Try::First,
        Some(0) => Try::Last,
        Some(_) => Try::Again,
    }
}

/// Notes that a thread looks on while this one forks.
pub(super) fn note_watch() {
    TOOK_A_PLACE.store(true, Ordering::Relaxed);
}

/// Whether no thread is to look on while this one forks.
pub(super) fn is_unwatched() -> bool {
    Place::of_this_thread().is_some_and(|place| place.unwatched.load(Ordering::Relaxed))
}

/// In a child that begins elsewhere: no fork is made again there, not this thread's either.
pub(super) fn forget_all() {
    for place in &PLACES {
        place.thread.store(0, Ordering::Relaxed);
    }
}

/// In the child: other threads' forks are not its own.
pub(super) fn forget_others() {
    let me = sys::thread_name();
    for place in &PLACES {
        if place.thread.load(Ordering::Relaxed) != me {
            place.thread.store(0, Ordering::Relaxed);
        }
    }
}

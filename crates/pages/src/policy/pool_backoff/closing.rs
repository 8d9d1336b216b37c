//! Keeps the heap off the pools during a fork, and for good after forks, beside threads or under a
//! seccomp filter. Reports pages that move off the pools or stay.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_contract::env::Fallback;
use hugetools_contract::ledger::Kind;

use super::fallback_text;
use super::shortfall::{FORKS_SEEN, Shortfall, ShortfallCell};
use crate::policy::thp;
use crate::rt::message::{Amount, Level, say, say_once_at};
use crate::{config, sys};

/// Why the pools are closed to the heap for good.
static CLOSED: ShortfallCell = ShortfallCell::new();

/// Closes the pools to the heap for good. The first reason is kept.
pub(crate) fn close(why: Shortfall) {
    CLOSED.note_first(why);
}

pub(super) fn closed() -> Shortfall {
    CLOSED.get()
}

/// Number of forks in progress.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Begins a fork, during which the heap takes no hugetlb pages.
pub(crate) fn pause() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// Ends [`pause`] in the parent.
pub(crate) fn resume() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// Ends [`pause`] in the child.
pub(crate) fn resume_in_child() {
    FORKS.store(0, Ordering::SeqCst);
}

/// Whether the heap may take hugetlb pages now. It may not under valgrind, during a fork, or once
/// the pools are closed.
pub(super) fn may_have_hugetlb() -> bool {
    FORKS.load(Ordering::SeqCst) == 0 && !is_closed() && !sys::is_under_valgrind()
}

/// Whether the pools are closed; reports it if threads are the reason.
fn is_closed() -> bool {
    let closed = closed();
    if closed == Shortfall::Threads {
        say_threads(0);
    }
    closed != Shortfall::None
}

/// Reports that a fork moved memory. Warns if the memory is on base pages now. Also warns the first
/// time, unless the heap is required: an error follows then.
pub(crate) fn say_moved(moved: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let (level, next) = thp::below_pools();
    let is_news = config::share_of_heap().is_none() && !SAID.swap(true, Ordering::Relaxed);
    let level = match is_news {
        true => level.min(config::level_unpredicted(Kind::Moved)),
        false => level,
    };
    say(
        level,
        format_args!(
            "fork: moved {} from hugetlb pages to {next}, which parent and child can share",
            Amount(moved)
        ),
    );
}

/// Reports that memory stays on a pool at a fork.
pub(crate) fn say_left(total: usize, why: &dyn fmt::Display) {
    say(
        config::level_once(Kind::Left),
        format_args!(
            "fork: {} stay on hugetlb pages, {why}: parent and child share them. A write \
             needs a free page of the pool, or the writer is killed (SIGBUS)",
            Amount(total)
        ),
    );
}

/// Reports once that the heap stays off pools after forks.
pub(crate) fn say_forks() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if closed() == Shortfall::Forks {
        let next = fallback_text(0);
        let level = || match config::get().fallback {
            Fallback::Thp if thp::serves_private().is_ok() => Level::Info,
            _ => config::level(Kind::Forks),
        };
        say_once_at(&SAID, level, format_args!("heap: {FORKS_SEEN}; {next}"));
    }
}

/// Hint: how private memory can stay on the pools in a process with threads.
pub(crate) const KEEP_WITH_THREADS_HINT: &str = " (to keep hugetlb pages: hugectl --fork=kernel \
     or, since Linux 5.19, hugeadm --set-userfaultfd-group GROUP)";

/// Reports once that `moved` bytes of private memory have moved off the pools because of threads,
/// or, if 0, that the heap gets no pool pages.
pub(crate) fn say_threads(moved: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    const WHY: &str = "since there is no full userfaultfd";
    let level = || config::level_unpredicted(Kind::Threads);
    let say = |text: fmt::Arguments<'_>| say_once_at(&SAID, level, text);
    match moved {
        0 => say(format_args!(
            "threads: no hugetlb pages for the heap, {WHY}{KEEP_WITH_THREADS_HINT}"
        )),
        _ => say(format_args!(
            "threads: moved {} from hugetlb pages to {}, {WHY}{KEEP_WITH_THREADS_HINT}",
            Amount(moved),
            thp::below_pools().1
        )),
    }
}

/// Reports that private memory has moved off the pools before the program's seccomp filter.
pub(crate) fn say_filter(moved: usize) {
    say(
        config::level_unpredicted(Kind::Moved),
        format_args!(
            "seccomp: moved {} from hugetlb pages to {}, since under the program's filter they \
             could not move before a fork (to keep hugetlb pages: hugectl --fork=kernel)",
            Amount(moved),
            thp::below_pools().1
        ),
    );
}

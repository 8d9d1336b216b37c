//! Why a pool gave no page the last time, and when to ask it again. Also keeps the heap off the
//! pools after forks and beside threads, and reports that.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use hugetools_contract::env::{Fallback, Pages, Share};
use hugetools_contract::ladder::{Rung, below_pools};
use hugetools_contract::ledger::Kind;

use crate::extent::page_sizes::LARGEST_UNIT;
use crate::kernel::hugetlb_pool;
use crate::policy::{quota, thp};
use crate::rt::message::{Amount, Level, say, say_once_at};
use crate::{config, sys};
use hugetools_kernfs::size_name::SizeName;

/// Why memory isn't on the requested huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Shortfall {
    /// No failure so far.
    None = 0,
    /// The pool has no free page.
    PoolEmpty = 1,
    /// The pool has pages, but a hugetlb cgroup, cpuset or memory policy limits this process.
    Limited = 2,
    /// Memory moved off hugetlb pages before a fork.
    Fork = 3,
    /// The address space is too small for extents.
    AddressSpace = 4,
    /// This process has used up its quota.
    Own = 5,
    /// Valgrind runs the program.
    Valgrind = 6,
    /// Forks had to move memory so often that the heap avoids pools.
    Forks = 7,
    /// The pool gave no page, and its counters are unreadable.
    PoolUnread = 8,
    /// This user isn't allowed System V segments on pool pages.
    ShmGroup = 9,
    /// The process has threads and can't move private memory beside them.
    Threads = 10,
}

impl Shortfall {
    /// All variants, by number.
    const ALL: [Shortfall; 11] = [
        Shortfall::None,
        Shortfall::PoolEmpty,
        Shortfall::Limited,
        Shortfall::Fork,
        Shortfall::AddressSpace,
        Shortfall::Own,
        Shortfall::Valgrind,
        Shortfall::Forks,
        Shortfall::PoolUnread,
        Shortfall::ShmGroup,
        Shortfall::Threads,
    ];

    /// Returns the variant with this number.
    fn numbered(number: &AtomicU8) -> Shortfall {
        let number = usize::from(number.load(Ordering::Relaxed));
        Shortfall::ALL
            .get(number)
            .copied()
            .unwrap_or(Shortfall::None)
    }

    /// The reason in words.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Shortfall::None => None,
            Shortfall::PoolEmpty => Some("the pool has no free page"),
            Shortfall::Limited => {
                Some("a hugetlb cgroup, cpuset or memory policy allows no more of the pool's pages")
            }
            Shortfall::Fork => Some("moved off hugetlb pages before a fork"),
            Shortfall::AddressSpace => Some("the address space is limited (ulimit -v)"),
            Shortfall::Own => Some("the limit of this process (HUGETLB_LIMIT) is reached"),
            Shortfall::Valgrind => Some(VALGRIND),
            Shortfall::Forks => Some(FORKS_SEEN),
            Shortfall::PoolUnread => Some("the pool gave no page, and its counters are unreadable"),
            Shortfall::Threads => Some(THREADS),
            Shortfall::ShmGroup => Some("this user is not in the group of vm.hugetlb_shm_group"),
        }
    }
}

/// Reason under valgrind.
const VALGRIND: &str = "off pools under valgrind";

/// Reason after several forks that moved memory.
pub const FORKS_SEEN: &str = "off pools: two forks had to move its pages";

/// Reason beside threads.
pub const THREADS: &str = "off pools beside threads: no full userfaultfd (Linux 5.19)";

/// Backoff state of one pool.
#[derive(Debug)]
pub struct PoolBackoff {
    /// Growth in bytes before the pool is asked again.
    skip: AtomicUsize,
    last: AtomicU8,
    said: AtomicBool,
}

/// Value of [`PoolBackoff::skip`] after a failure, in bytes: each try costs system calls.
const SKIP_BYTES: usize = 128 << 20;

impl PoolBackoff {
    /// Nothing failed yet.
    pub(crate) const fn new() -> PoolBackoff {
        PoolBackoff {
            skip: AtomicUsize::new(0),
            last: AtomicU8::new(0),
            said: AtomicBool::new(false),
        }
    }

    /// Whether to ask the pool for `bytes` (at least 1) now. If not, they count as skipped.
    pub fn is_worth_a_try(&self, bytes: usize) -> bool {
        let count_down = |skip: usize| skip.checked_sub(bytes);
        let skip = &self.skip;
        let skipped = skip.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count_down);
        if skipped.is_err() {
            skip.store(0, Ordering::Relaxed);
        }
        skipped.is_err()
    }

    /// Ends the backoff: this process has returned a page to the pool.
    pub fn gave_back(&self) {
        self.skip.store(0, Ordering::Relaxed);
    }

    /// Begins the backoff: the pool of this page size gave the heap no page. Reports it once.
    pub fn heap_failed(&self, bytes: usize) {
        self.skip.store(SKIP_BYTES, Ordering::Relaxed);
        let (shortfall, size) = (private_shortfall_of(bytes, 1), SizeName(bytes));
        self.note(shortfall);
        let level = || match config::get().heap {
            // The user set this limit.
            _ if shortfall == Shortfall::Own => Level::Info,
            // The request fails with an error message.
            _ if config::share_of_heap() == Some(Share::Whole) => Level::Info,
            // The pool isn't the requested one but a lower rung.
            Some(Pages::Size(asked)) if asked != bytes as u64 => Level::Info,
            _ => config::level(Kind::Heap),
        };
        let cure = match shortfall {
            Shortfall::PoolEmpty => " (see hugeadm --size-for)",
            _ => "",
        };
        let (why, next) = (shortfall.reason().unwrap_or_default(), next_rung(bytes));
        say_once_at(
            &self.said,
            level,
            format_args!("heap: no more pages of {size}: {why}; {next}{cure}"),
        );
    }

    /// Records a failure.
    pub fn note(&self, shortfall: Shortfall) {
        self.last.store(shortfall as u8, Ordering::Relaxed);
    }

    /// The last failure.
    pub fn shortfall(&self) -> Shortfall {
        Shortfall::numbered(&self.last)
    }
}

/// Why the pool of this page size doesn't provide `pages` pages.
pub fn shortfall_of(size: usize, pages: usize) -> Shortfall {
    match hugetlb_pool::could_give(size, pages) {
        Some(true) => Shortfall::Limited,
        Some(false) => Shortfall::PoolEmpty,
        None => Shortfall::PoolUnread,
    }
}

/// Like [`shortfall_of`], for private memory, which valgrind and the quota keep off the pool, too.
pub fn private_shortfall_of(size: usize, pages: usize) -> Shortfall {
    match quota::is_spent(size) {
        _ if sys::is_under_valgrind() => Shortfall::Valgrind,
        true => Shortfall::Own,
        false => shortfall_of(size, pages),
    }
}

/// Reports at the start if the heap stays off pools because of valgrind.
pub fn begin() {
    if config::heap_is_of_pool() && sys::is_under_valgrind() {
        BACKOFF.note(Shortfall::Valgrind);
        say(
            config::level(Kind::Heap),
            format_args!("heap: {VALGRIND}; {}", next_rung(0)),
        );
    }
}

/// The heap's backoff from the pool whose pages are one [unit](crate::extent::unit) long.
pub static BACKOFF: PoolBackoff = PoolBackoff::new();

/// The heap's backoff from the pool of larger pages.
pub static BIG_BACKOFF: PoolBackoff = PoolBackoff::new();

/// Why the heap isn't on the requested pages.
pub fn shortfall() -> Shortfall {
    match (BIG_BACKOFF.shortfall(), BACKOFF.shortfall()) {
        _ if closed() == Shortfall::Threads => Shortfall::Threads,
        (Shortfall::None, Shortfall::None) => closed(),
        (Shortfall::None, shortfall) | (shortfall, _) => shortfall,
    }
}

/// Reports that a fork moved memory: a warning if the memory is on base pages now, or if this is
/// the first such message and the heap isn't required (otherwise an error follows).
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
        let next = next_rung(0);
        let level = || match config::get().fallback {
            Fallback::Thp if thp::serves_private().is_ok() => Level::Info,
            _ => config::level(Kind::Forks),
        };
        say_once_at(&SAID, level, format_args!("heap: {FORKS_SEEN}; {next}"));
    }
}

/// Number of the [`Shortfall`] that closed the pools to the heap for good; 0 while open.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Closes the pools to the heap for good. The first reason is kept.
pub(crate) fn close(why: Shortfall) {
    let _ = CLOSED.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
}

fn closed() -> Shortfall {
    Shortfall::numbered(&CLOSED)
}

/// Reports once that `moved` bytes of private memory have moved off the pools because of threads,
/// or, if 0, that the heap gets no pool pages.
pub(crate) fn say_threads(moved: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    const CURE: &str = "since there is no full userfaultfd (to keep hugetlb pages: hugectl \
                        --fork=kernel or, since Linux 5.19, hugeadm --set-userfaultfd-group GROUP)";
    let level = || config::level_unpredicted(Kind::Threads);
    match moved {
        0 => say_once_at(
            &SAID,
            level,
            format_args!("threads: no hugetlb pages for the heap, {CURE}"),
        ),
        _ => say_once_at(
            &SAID,
            level,
            format_args!(
                "threads: moved {} from hugetlb pages to {}, {CURE}",
                Amount(moved),
                thp::below_pools().1
            ),
        ),
    }
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
pub fn may_have_hugetlb() -> bool {
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

fn next_rung(size: usize) -> &'static str {
    let fallback = config::get().fallback;
    let is_strict = config::share_of_heap() == Some(Share::Whole);
    if size > LARGEST_UNIT && !is_strict {
        return "smaller pages follow";
    }
    let has_thp = fallback == Fallback::Thp && thp::serves_private().is_ok();
    match below_pools(fallback, is_strict, has_thp) {
        Rung::Fail if is_strict => "the request fails",
        Rung::Fail => "requests for more fail",
        Rung::Thp => "transparent huge pages follow",
        Rung::Pool | Rung::Base => "base pages follow",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_try_skips_some_growth() {
        let backoff = PoolBackoff::new();
        let page = 2 << 20;
        assert!(backoff.is_worth_a_try(page) && backoff.is_worth_a_try(page));
        backoff.skip.store(2 * page, Ordering::Relaxed);
        assert!(!backoff.is_worth_a_try(page) && !backoff.is_worth_a_try(page));
        assert!(backoff.is_worth_a_try(page));
        backoff.skip.store(SKIP_BYTES, Ordering::Relaxed);
        assert!(
            backoff.is_worth_a_try(SKIP_BYTES + page),
            "more than is skipped"
        );
        backoff.gave_back();
        assert!(backoff.is_worth_a_try(page));
    }

    #[test]
    fn a_noted_shortfall_is_returned() {
        let backoff = PoolBackoff::new();
        for shortfall in Shortfall::ALL {
            backoff.note(shortfall);
            assert_eq!(backoff.shortfall(), shortfall);
            assert_eq!(shortfall.reason().is_none(), shortfall == Shortfall::None);
        }
    }
}

//! How asking the pools went: what has kept memory from the pages that were
//! asked for, and when it is worth asking again.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use hugetools_contract::env::{Fallback, Pages, Share};
use hugetools_contract::ladder::{Rung, below_pools};
use hugetools_contract::ledger::Kind;

use crate::extent::page_sizes::LARGEST_UNIT;
use crate::kernel::hugetlb_pool;
use crate::policy::{quota, thp};
use crate::rt::message::{Amount, Level, say, say_news, say_once};
use crate::{config, sys};
use hugetools_kernfs::size_name::SizeName;

/// What has kept memory from the huge pages that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Shortfall {
    /// Nothing has.
    None = 0,
    /// The pool has no page left.
    PoolEmpty = 1,
    /// The pool has pages, but this process may not have them: a limit of the
    /// hugetlb cgroup, a cpuset or a memory policy.
    Limited = 2,
    /// Hugetlb pages were given up before a fork.
    Fork = 3,
    /// The address space is too small for extents.
    AddressSpace = 5,
    /// This process has taken as much of the pool as it may.
    Own = 6,
    /// Valgrind runs the program.
    Valgrind = 7,
    /// There were forks for which hugetlb pages had to be moved.
    Forks = 8,
    /// The pool gave no page, and why cannot be told: its counters cannot be read.
    PoolUnread = 9,
    /// This user may have no segments of pool pages.
    ShmGroup = 10,
    /// The process has threads, and cannot move private memory beside them.
    Threads = 11,
}

impl Shortfall {
    /// The reason in words, for a report.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Shortfall::None => None,
            Shortfall::PoolEmpty => Some("the pool has no page left"),
            Shortfall::Limited => {
                Some("the pool has pages, but a cgroup, cpuset or policy limits this process")
            }
            Shortfall::Fork => Some("moved off hugetlb pages before a fork"),
            Shortfall::AddressSpace => Some("the address space is limited (ulimit -v)"),
            Shortfall::Own => Some("the limit of this process (HUGETLB_LIMIT) is reached"),
            Shortfall::Valgrind => Some(VALGRIND),
            Shortfall::Forks => Some(FORKS_SEEN),
            Shortfall::PoolUnread => Some(POOL_UNREAD),
            Shortfall::Threads => Some(THREADS),
            Shortfall::ShmGroup => Some("this user is not in the group of vm.hugetlb_shm_group"),
        }
    }
}

/// Why there is no page of a pool whose counters are hidden.
pub const POOL_UNREAD: &str = "the pool gave no page, and what it has cannot be read";

/// Why private memory stays off pools under valgrind.
pub const VALGRIND: &str = "off pools under valgrind";

/// Why a heap stays off pools that was on their pages at several forks.
pub const FORKS_SEEN: &str = "off pools, since forks had to move what is on their pages";

/// Why private memory stays off pools beside threads.
pub const THREADS: &str = "off pools beside threads, since this user has no full userfaultfd";

/// How hugetlb pages went so far: when to try again, and what was wrong.
#[derive(Debug)]
pub struct PoolBackoff {
    /// Bytes for which the pool is not asked.
    skip: AtomicUsize,
    last: AtomicU8,
    said: AtomicBool,
}

/// For how much memory the pool is not asked after a failed try, in bytes:
/// asking an empty one costs a few system calls each time, and it may have pages
/// again some day.
const SPARED: usize = 128 << 20;

impl PoolBackoff {
    /// No bad backoff yet.
    pub const fn new() -> PoolBackoff {
        PoolBackoff {
            skip: AtomicUsize::new(0),
            last: AtomicU8::new(0),
            said: AtomicBool::new(false),
        }
    }

    /// Whether it is worth asking a pool now, for so many bytes; at least 1.
    pub fn is_worth_a_try(&self, bytes: usize) -> bool {
        let spare = |skip: usize| skip.checked_sub(bytes);
        let skip = &self.skip;
        let spared = skip.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spare);
        if spared.is_err() {
            skip.store(0, Ordering::Relaxed);
        }
        spared.is_err()
    }

    /// Notes that the pool has a page again: this process has given it back.
    pub fn gave_back(&self) {
        self.skip.store(0, Ordering::Relaxed);
    }

    /// Notes that the pool of this size gave the heap no page, and says so
    /// once.
    pub fn heap_failed(&self, bytes: usize) {
        self.skip.store(SPARED, Ordering::Relaxed);
        let (shortfall, size) = (private_shortfall_of(bytes, 1), SizeName(bytes));
        self.note(shortfall);
        let level = || match config::get().heap {
            // Then the request fails, which is said as an error.
            _ if config::share_of_heap() == Some(Share::Whole) => Level::Info,
            // Not what was asked for: a rung below it.
            Some(Pages::Size(asked)) if asked != bytes as u64 => Level::Info,
            _ => config::level(Kind::Heap),
        };
        let next = next_rung(bytes);
        match shortfall {
            // As it was asked to be.
            Shortfall::Own => say_once(
                &self.said,
                Level::Info,
                format_args!(
                    "heap: this process has all pages of {size} that it may take (HUGETLB_LIMIT); \
                     {next}"
                ),
            ),
            Shortfall::Limited => say_news(
                &self.said,
                level,
                format_args!(
                    "heap: no more pages of {size} for this process although the pool has some \
                     (hugetlb cgroup, cpuset or memory policy); {next}"
                ),
            ),
            Shortfall::PoolUnread => say_news(
                &self.said,
                level,
                format_args!("heap: the pool of {size} pages: {POOL_UNREAD}; {next}"),
            ),
            _ => say_news(
                &self.said,
                level,
                format_args!(
                    "heap: the pool of {size} pages has no page left; {next} \
                     (to grow it: hugeadm --pool-pages-min {size}:+N)"
                ),
            ),
        }
    }

    /// Notes what went wrong.
    pub fn note(&self, shortfall: Shortfall) {
        self.last.store(shortfall as u8, Ordering::Relaxed);
    }

    /// What went wrong last.
    pub fn shortfall(&self) -> Shortfall {
        match self.last.load(Ordering::Relaxed) {
            1 => Shortfall::PoolEmpty,
            2 => Shortfall::Limited,
            3 => Shortfall::Fork,
            5 => Shortfall::AddressSpace,
            6 => Shortfall::Own,
            7 => Shortfall::Valgrind,
            8 => Shortfall::Forks,
            9 => Shortfall::PoolUnread,
            10 => Shortfall::ShmGroup,
            11 => Shortfall::Threads,
            _ => Shortfall::None,
        }
    }
}

/// Why a pool of this size did not give so many pages.
pub fn shortfall_of(size: usize, pages: usize) -> Shortfall {
    match hugetlb_pool::could_give(size, pages) {
        Some(true) => Shortfall::Limited,
        Some(false) => Shortfall::PoolEmpty,
        None => Shortfall::PoolUnread,
    }
}

/// The same for private memory, of which the process may have a limit.
pub fn private_shortfall_of(size: usize, pages: usize) -> Shortfall {
    match quota::is_spent(size) {
        _ if sys::is_under_valgrind() => Shortfall::Valgrind,
        true => Shortfall::Own,
        false => shortfall_of(size, pages),
    }
}

/// Notes whether the heap is to stay off pools from the beginning, and says so.
pub fn begin() {
    let heap = config::get().heap;
    if heap.is_some_and(|pages| pages != Pages::Thp) && sys::is_under_valgrind() {
        BACKOFF.note(Shortfall::Valgrind);
        say(
            config::level(Kind::Heap),
            format_args!("heap: {VALGRIND}; {}", next_rung(0)),
        );
    }
}

impl Default for PoolBackoff {
    fn default() -> PoolBackoff {
        PoolBackoff::new()
    }
}

/// How hugetlb pages of the unit's size went so far.
pub static BACKOFF: PoolBackoff = PoolBackoff::new();

/// How larger ones went.
pub static BIG_BACKOFF: PoolBackoff = PoolBackoff::new();

/// What kept the heap from the pages that were asked for.
pub fn shortfall() -> Shortfall {
    match (BIG_BACKOFF.shortfall(), BACKOFF.shortfall()) {
        _ if closed() == Some(Closed::Threads) => Shortfall::Threads,
        (Shortfall::None, Shortfall::None) => closed().map_or(Shortfall::None, Closed::shortfall),
        (Shortfall::None, shortfall) | (shortfall, _) => shortfall,
    }
}

/// Says that a fork has moved so many bytes: the first time so that whoever asked for the
/// pool's pages hears it, unless it is an error for them ([`required`](super::required)).
pub(crate) fn say_moved(moved: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let (level, next) = thp::below_pools();
    let is_news = config::share_of_heap().is_none() && !SAID.swap(true, Ordering::Relaxed);
    let level = match is_news {
        true => level.min(config::level_of_news(Kind::Moved)),
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

/// Says that so many bytes stay on pages of a pool at a fork, and why.
pub(crate) fn say_left(total: usize, why: &dyn fmt::Display) {
    say(
        config::level_once(Kind::Left),
        format_args!(
            "fork: {} stay on hugetlb pages, {why}: parent and child share them, and whoever \
             writes to one needs a free page of the pool, or is killed (SIGBUS)",
            Amount(total)
        ),
    );
}

/// Says once that the heap stays off pools after forks, if it does.
pub(crate) fn say_forks() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if closed() == Some(Closed::Forks) {
        let next = next_rung(0);
        let level = || match config::get().fallback {
            Fallback::Thp if thp::serves_private().is_ok() => Level::Info,
            _ => config::level(Kind::Forks),
        };
        say_news(&SAID, level, format_args!("heap: {FORKS_SEEN}; {next}"));
    }
}

/// Why the pools are closed for private memory of this process, for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Closed {
    /// It has moved at several forks.
    Forks = 1,
    /// The process has threads, and no full `userfaultfd(2)`.
    Threads = 2,
}

impl Closed {
    fn shortfall(self) -> Shortfall {
        match self {
            Closed::Forks => Shortfall::Forks,
            Closed::Threads => Shortfall::Threads,
        }
    }
}

/// A [`Closed`]; 0 while the pools are open.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Closes the pools for private memory, for good. The first reason stays.
pub(crate) fn close(why: Closed) {
    let _ = CLOSED.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
}

fn closed() -> Option<Closed> {
    match CLOSED.load(Ordering::Relaxed) {
        0 => None,
        1 => Some(Closed::Forks),
        _ => Some(Closed::Threads),
    }
}

/// Says once that private memory has left the pools beside threads, or gets none of their
/// pages (`moved` is 0 then), and what to do.
pub(crate) fn say_threads(moved: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    const CURE: &str = "since this user has no full userfaultfd (to keep hugetlb pages: hugeadm \
                        --set-userfaultfd-group GROUP, or hugectl --fork=kernel)";
    let level = || config::level_of_news(Kind::Threads);
    match moved {
        0 => say_news(
            &SAID,
            level,
            format_args!("threads: no hugetlb pages for the heap, {CURE}"),
        ),
        _ => say_news(
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

/// Whether memory of this process was moved off hugetlb pages before a fork.
pub static MOVED: AtomicBool = AtomicBool::new(false);

/// How many forks are under way: what a child would find half done, or share, is
/// not taken meanwhile.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Takes no hugetlb pages until the fork that begins is over.
pub(crate) fn pause() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// Ends that, in the parent.
pub(crate) fn go_on() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// The same in the child, where no other fork is under way.
pub(crate) fn go_on_alone() {
    FORKS.store(0, Ordering::SeqCst);
}

/// Whether a fork is under way.
pub(crate) fn is_forking() -> bool {
    FORKS.load(Ordering::SeqCst) > 0
}

/// Whether the heap is to take hugetlb pages at all: not during a fork, never
/// again after some forks, and after a move not while there is a child, since
/// the next fork, and the next move, may be near; not under valgrind.
pub fn may_have_hugetlb() -> bool {
    // Where it cannot be told, there is one.
    let is_parent = || MOVED.load(Ordering::Relaxed) && sys::has_child() != Some(false);
    !is_forking() && !is_closed() && !is_parent() && !sys::is_under_valgrind()
}

/// Whether the pools are closed; says why, where only the heap's growth shows it.
fn is_closed() -> bool {
    let closed = closed();
    if closed == Some(Closed::Threads) {
        say_threads(0);
    }
    closed.is_some()
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
    fn a_failed_try_spares_some() {
        let backoff = PoolBackoff::new();
        let page = 2 << 20;
        assert!(backoff.is_worth_a_try(page) && backoff.is_worth_a_try(page));
        backoff.skip.store(2 * page, Ordering::Relaxed);
        assert!(!backoff.is_worth_a_try(page) && !backoff.is_worth_a_try(page));
        assert!(backoff.is_worth_a_try(page));
        backoff.skip.store(SPARED, Ordering::Relaxed);
        assert!(backoff.is_worth_a_try(SPARED + page), "more than is spared");
        backoff.gave_back();
        assert!(backoff.is_worth_a_try(page));
    }

    #[test]
    fn of_counters_that_cannot_be_read_nothing_is_claimed() {
        assert_eq!(shortfall_of(1 << 50, 1), Shortfall::PoolUnread);
    }

    #[test]
    fn what_is_noted_is_found() {
        let backoff = PoolBackoff::new();
        let all = [
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
        for shortfall in all {
            backoff.note(shortfall);
            assert_eq!(backoff.shortfall(), shortfall);
            assert_eq!(shortfall.reason().is_none(), shortfall == Shortfall::None);
        }
    }
}

//! Why a pool gave no page the last time (`shortfall`), and when to ask it again. `closing`
//! keeps the heap off the pools.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_contract::env::{Fallback, Pages, Share};
use hugetools_contract::ladder::{Rung, below_pools};
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::size_name::SizeName;

use crate::extent::page_sizes::LARGEST_UNIT;
use crate::policy::thp;
use crate::rt::message::{Level, say, say_once_at};
use crate::{config, sys};

mod closing;
mod shortfall;

pub(crate) use closing::{
    KEEP_BESIDE_THREADS, close, pause, resume, resume_in_child, say_filter, say_forks, say_left,
    say_moved, say_threads,
};
use closing::{closed, may_have_hugetlb};
use shortfall::VALGRIND;
pub use shortfall::{Noted, Shortfall, private_shortfall_of, shortfall_of};

/// Backoff state of one pool.
#[derive(Debug)]
pub struct PoolBackoff {
    /// Growth in bytes before the pool is asked again.
    skip: AtomicUsize,
    last: Noted,
    said: AtomicBool,
}

/// Value of [`PoolBackoff::skip`] after a failure, in bytes: each try costs system calls.
const SKIP_BYTES: usize = 128 << 20;

impl PoolBackoff {
    /// Nothing failed yet.
    pub(crate) const fn new() -> PoolBackoff {
        PoolBackoff {
            skip: AtomicUsize::new(0),
            last: Noted::new(),
            said: AtomicBool::new(false),
        }
    }

    /// Whether the heap may ask the pool for `bytes` (at least 1) now.
    pub(crate) fn may_ask(&self, bytes: usize) -> bool {
        self.is_worth_a_try(bytes) && may_have_hugetlb()
    }

    /// Whether the backoff is over. If not, the bytes count as skipped.
    fn is_worth_a_try(&self, bytes: usize) -> bool {
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
        self.last.note(shortfall);
    }

    /// The last failure.
    pub fn shortfall(&self) -> Shortfall {
        self.last.get()
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

fn next_rung(size: usize) -> &'static str {
    let fallback = config::get().fallback;
    let is_strict = config::share_of_heap() == Some(Share::Whole);
    if size > LARGEST_UNIT && !is_strict {
        return "using smaller pages";
    }
    let has_thp = fallback == Fallback::Thp && thp::serves_private().is_ok();
    match below_pools(fallback, is_strict, has_thp) {
        Rung::Fail if is_strict => "the request fails",
        Rung::Fail => "requests for more fail",
        Rung::Thp => "using transparent huge pages",
        Rung::Pool | Rung::Base => "using base pages",
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
        backoff.skip.store(SKIP_BYTES, Ordering::Relaxed);
        backoff.gave_back();
        assert!(backoff.is_worth_a_try(page));
    }
}

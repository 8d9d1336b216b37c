//! Backs off from a pool that gave no page. `shortfall` records the reason; `closing` keeps the
//! heap off the pools during forks or for good.

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
    KEEP_WITH_THREADS_HINT, close, pause, resume, resume_in_child, say_filter, say_forks, say_left,
    say_moved, say_threads,
};
use closing::{closed, may_have_hugetlb};
use shortfall::VALGRIND;
pub use shortfall::{Shortfall, ShortfallCell, private_shortfall_of, shortfall_of};

/// Backoff state of one pool.
#[derive(Debug)]
pub struct PoolBackoff {
    /// Heap growth (bytes) until the pool is asked again.
    skip: AtomicUsize,
    last: ShortfallCell,
    is_reported: AtomicBool,
}

/// Heap growth (bytes) that skips a pool after a failure: each try costs system calls.
const SKIP_BYTES: usize = 128 << 20;

impl PoolBackoff {
    /// Nothing failed yet.
    pub(crate) const fn new() -> PoolBackoff {
        PoolBackoff {
            skip: AtomicUsize::new(0),
            last: ShortfallCell::new(),
            is_reported: AtomicBool::new(false),
        }
    }

    /// Whether the heap may ask the pool for `bytes` (at least 1) now.
    pub(crate) fn may_ask(&self, bytes: usize) -> bool {
        self.count_down(bytes) && may_have_hugetlb()
    }

    /// Returns whether the backoff is over. If not, subtracts `bytes` from the rest.
    fn count_down(&self, bytes: usize) -> bool {
        let subtract = |skip: usize| skip.checked_sub(bytes);
        let skip = &self.skip;
        let skipped = skip.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
        if skipped.is_err() {
            skip.store(0, Ordering::Relaxed);
        }
        skipped.is_err()
    }

    /// Ends the backoff: this process has returned a page to the pool.
    pub fn end(&self) {
        self.skip.store(0, Ordering::Relaxed);
    }

    /// Begins the backoff: the pool of this page size gave the heap no page. Reports it once.
    pub fn begin(&self, size: usize) {
        self.skip.store(SKIP_BYTES, Ordering::Relaxed);
        let shortfall = private_shortfall_of(size, 1);
        self.note(shortfall);
        let level = || match config::get().heap {
            // The user set this limit.
            _ if shortfall == Shortfall::Own => Level::Info,
            // The failing request reports an error.
            _ if config::share_of_heap() == Some(Share::Whole) => Level::Info,
            // This pool is a lower rung than the requested one.
            Some(Pages::Size(asked)) if asked != size as u64 => Level::Info,
            _ => config::level(Kind::Heap),
        };
        let hint = match shortfall {
            Shortfall::PoolEmpty => " (see hugeadm --size-for)",
            _ => "",
        };
        let (why, next) = (shortfall.reason().unwrap_or_default(), fallback_text(size));
        let size = SizeName(size);
        say_once_at(
            &self.is_reported,
            level,
            format_args!("heap: no more pages of {size}: {why}; {next}{hint}"),
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

/// Reports at the start that the heap stays off pools under valgrind.
pub fn report_valgrind() {
    if config::heap_is_of_pool() && sys::is_under_valgrind() {
        BACKOFF.note(Shortfall::Valgrind);
        say(
            config::level(Kind::Heap),
            format_args!("heap: {VALGRIND}; {}", fallback_text(0)),
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

/// Words for the heap's next choice after the pool of this page size.
fn fallback_text(size: usize) -> &'static str {
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
    fn a_failure_skips_the_pool_for_some_growth() {
        let backoff = PoolBackoff::new();
        let page = 2 << 20;
        assert!(backoff.count_down(page) && backoff.count_down(page));
        backoff.skip.store(2 * page, Ordering::Relaxed);
        assert!(!backoff.count_down(page) && !backoff.count_down(page));
        assert!(backoff.count_down(page));
        backoff.skip.store(SKIP_BYTES, Ordering::Relaxed);
        assert!(
            backoff.count_down(SKIP_BYTES + page),
            "a large request ends it"
        );
        backoff.skip.store(SKIP_BYTES, Ordering::Relaxed);
        backoff.end();
        assert!(backoff.count_down(page));
    }
}

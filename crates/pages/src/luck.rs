//! How asking the pools went: what has kept memory from the pages that were
//! asked for, and when it is worth to ask again.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use hugetools_contract::env::{Fallback, Pages};

use crate::layout::LARGEST_UNIT;
use crate::say::{Level, SizeName, say_once};
use crate::{config, facts, hugetlb};

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
    /// A page was needed for a private copy after a fork.
    Copy = 4,
    /// The address space is too small for windows.
    AddressSpace = 5,
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
            Shortfall::Copy => Some("moved off hugetlb pages after a fork"),
            Shortfall::AddressSpace => Some("the address space is limited (ulimit -v)"),
        }
    }
}

/// How hugetlb pages went so far: when to try again, and what was wrong.
#[derive(Debug)]
pub struct Luck {
    skip: AtomicU32,
    last: AtomicU8,
    said: AtomicBool,
}

/// How many tries a failed one spares: asking an empty pool costs a system
/// call or two each time.
const SPARED: u32 = 64;

impl Luck {
    /// No bad luck yet.
    pub const fn new() -> Luck {
        Luck {
            skip: AtomicU32::new(0),
            last: AtomicU8::new(0),
            said: AtomicBool::new(false),
        }
    }

    /// Whether it is worth to ask a pool now.
    pub fn is_worth_a_try(&self) -> bool {
        self.skip
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |skip| {
                skip.checked_sub(1)
            })
            .is_err()
    }

    /// Notes that the pool of this size gave the heap no page, and says so
    /// once.
    pub fn heap_failed(&self, bytes: usize) {
        self.skip.store(SPARED, Ordering::Relaxed);
        let (shortfall, size) = (shortfall_of(bytes, 1), SizeName(bytes));
        self.note(shortfall);
        let level = match config::get().heap {
            // Not what was asked for: a rung below it.
            Some(Pages::Size(asked)) if asked != bytes as u64 => Level::Info,
            _ => config::get().level(),
        };
        let next = next_rung(bytes);
        match shortfall {
            Shortfall::Limited => say_once(
                &self.said,
                level,
                format_args!(
                    "heap: no more pages of {size} for this process although the pool has some \
                     (hugetlb cgroup, cpuset or memory policy); {next}"
                ),
            ),
            _ => say_once(
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
            4 => Shortfall::Copy,
            5 => Shortfall::AddressSpace,
            _ => Shortfall::None,
        }
    }
}

/// Why a pool of this size did not give so many pages.
pub fn shortfall_of(size: usize, pages: usize) -> Shortfall {
    match hugetlb::has_free(size, pages) {
        true => Shortfall::Limited,
        false => Shortfall::PoolEmpty,
    }
}

impl Default for Luck {
    fn default() -> Luck {
        Luck::new()
    }
}

/// How hugetlb pages of the unit's size went so far.
pub static LUCK: Luck = Luck::new();

/// How larger ones went.
pub static BIG_LUCK: Luck = Luck::new();

/// What kept the heap from the pages that were asked for.
pub fn shortfall() -> Shortfall {
    match BIG_LUCK.shortfall() {
        Shortfall::None => LUCK.shortfall(),
        shortfall => shortfall,
    }
}

/// Whether the process has been moved off hugetlb pages often enough to stay
/// off them.
pub static NO_HUGETLB: AtomicBool = AtomicBool::new(false);

fn next_rung(size: usize) -> &'static str {
    match config::get().fallback {
        _ if size > LARGEST_UNIT => "smaller pages follow",
        Fallback::Thp if facts::private_thp().is_ok() => "transparent huge pages follow",
        Fallback::Thp | Fallback::Base => "base pages follow",
        Fallback::None => "the request fails",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_try_spares_some() {
        let luck = Luck::new();
        assert!(luck.is_worth_a_try());
        luck.skip.store(2, Ordering::Relaxed);
        assert!(!luck.is_worth_a_try() && !luck.is_worth_a_try());
        assert!(luck.is_worth_a_try());
    }
}

//! Which pages a window may have, and what has kept it from the best of them.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use hugetools_contract::env::{Fallback, Pages};

use crate::say::{Level, SizeName, say_once};
use crate::{config, facts, hugetlb};

/// The layout of a window, decided from what was asked for and what this
/// machine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The size of a unit in bytes: that of its huge pages.
    pub unit: usize,
    /// Whether units may be hugetlb pages of the unit's size.
    pub huge: bool,
    /// The size of larger hugetlb pages to be tried first; 0 for none.
    pub big: usize,
}

/// Units are not larger than this, so that a small heap stays small.
const LARGEST_UNIT: usize = 32 << 20;

/// The unit where the machine's huge pages are larger than that.
const PLAIN_UNIT: usize = 2 << 20;

impl Layout {
    /// The layout for `pages`. A size that the machine has not is said and
    /// replaced by the default one.
    pub fn of(pages: Pages) -> Layout {
        let default = facts::default_huge_size();
        let asked = match pages {
            Pages::Thp => None,
            Pages::Default => default,
            Pages::Size(size) => match usize::try_from(size).ok() {
                Some(size) if hugetlb::is_offered(size) => Some(size),
                _ => {
                    say_unknown_size(size);
                    default
                }
            },
        };
        Layout::choose(asked, default, facts::thp_size())
    }

    /// The decision itself.
    fn choose(asked: Option<usize>, default: Option<usize>, thp: usize) -> Layout {
        let fits = |size: &usize| *size <= LARGEST_UNIT;
        let thp_unit = Some(thp).filter(fits).unwrap_or(PLAIN_UNIT);
        match asked {
            None => Layout {
                unit: thp_unit,
                huge: false,
                big: 0,
            },
            Some(size) if size <= LARGEST_UNIT => Layout {
                unit: size,
                huge: true,
                big: 0,
            },
            Some(size) => {
                let small = default.filter(fits);
                let unit = small.unwrap_or(thp_unit);
                Layout {
                    unit,
                    huge: small.is_some(),
                    big: size,
                }
            }
        }
    }
}

fn say_unknown_size(size: u64) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let size = SizeName(usize::try_from(size).unwrap_or(usize::MAX));
    let text = format_args!("this machine has no huge pages of {size}; the default size is used");
    say_once(&SAID, Level::Warning, text);
}

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
            _ => config::get().heap_level(),
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

    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    const GIB: usize = 1 << 30;

    #[test]
    fn layouts_of_machines() {
        let layout = |unit, huge, big| Layout { unit, huge, big };
        let x86 = |asked| Layout::choose(asked, Some(2 * MIB), 2 * MIB);
        assert_eq!(x86(Some(2 * MIB)), layout(2 * MIB, true, 0));
        assert_eq!(x86(Some(GIB)), layout(2 * MIB, true, GIB));
        assert_eq!(x86(None), layout(2 * MIB, false, 0));
        let arm_64k = |asked| Layout::choose(asked, Some(512 * MIB), 512 * MIB);
        assert_eq!(arm_64k(Some(512 * MIB)), layout(2 * MIB, false, 512 * MIB));
        assert_eq!(arm_64k(Some(2 * MIB)), layout(2 * MIB, true, 0));
        let power8 = Layout::choose(Some(16 * MIB), Some(16 * MIB), 16 * MIB);
        assert_eq!(power8, layout(16 * MIB, true, 0));
        let arm = Layout::choose(Some(64 * KIB), Some(2 * MIB), 2 * MIB);
        assert_eq!(arm, layout(64 * KIB, true, 0));
        assert_eq!(
            Layout::choose(None, None, 2 * MIB),
            layout(2 * MIB, false, 0)
        );
    }

    #[test]
    fn a_failed_try_spares_some() {
        let luck = Luck::new();
        assert!(luck.is_worth_a_try());
        luck.skip.store(2, Ordering::Relaxed);
        assert!(!luck.is_worth_a_try() && !luck.is_worth_a_try());
        assert!(luck.is_worth_a_try());
    }
}

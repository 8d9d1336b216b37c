//! The ladder decides which pages a segment's memory gets, and says why not better ones. hugectl
//! predicts with it. The libraries share its rules for the fallback and for transparent huge pages.
//!
//! The rungs are the pool of the requested size, the pool of the default size if that is smaller,
//! transparent huge pages, and base pages or a failed request. The caller passes all facts.

mod pool;
mod thp;

pub use pool::{Pool, Rest};
pub use thp::{Mode, NoThp, ThpFacts};

use crate::env::Fallback;

/// The name of a system call that a seccomp filter refuses.
pub type Call = &'static str;

/// The facts that decide about a segment.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The pool of the requested size, and the pool of the default size if it is smaller.
    pub pools: &'a [Pool],
    /// A refused system call that is needed to use pool pages.
    pub pool_barred: Option<Call>,
    /// A refused system call that is needed to copy the segment to transparent huge pages.
    pub copy_barred: Option<Call>,
    /// Transparent huge pages.
    pub thp: ThpFacts,
}

/// The request for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Whether pool pages are requested, not only transparent huge pages.
    pub pool: bool,
    /// The fallback after the pools.
    pub fallback: Fallback,
    /// Whether a request fails instead of stepping down (`--require`).
    pub is_strict: bool,
    /// Bytes of a file's segment in whole huge pages, or the first bytes of memory that grows.
    pub bytes: u64,
    /// Whether the memory grows as the program runs.
    pub grows: bool,
    /// Bytes of room that each byte on transparent huge pages needs, such as 4 for a copy. The
    /// memory control group must leave twice the product: see [`ThpFacts::has_room`].
    pub room: u64,
}

/// Where memory comes from, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// A pool.
    Pool,
    /// Transparent huge pages.
    Thp,
    /// Base pages.
    Base,
    /// Nowhere: the request fails.
    Fail,
}

/// Why a rung gives less than requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No pool of the requested size is visible.
    NoPool,
    /// The pool has too few pages.
    Pool {
        /// Page size in bytes.
        size: u64,
        /// Pages that a process can get.
        pages: u64,
    },
    /// The hugetlb control group leaves too little.
    Group {
        /// Page size in bytes.
        size: u64,
        /// The bytes that it leaves.
        rest: Rest,
    },
    /// `HUGETLB_LIMIT` is less than a page.
    Quota {
        /// Page size in bytes.
        size: u64,
    },
    /// The segment has no whole page of the requested size.
    TooSmall {
        /// Page size in bytes.
        size: u64,
    },
    /// A seccomp filter refuses a call.
    Barred(Call),
    /// `--fallback=base` excludes the transparent huge pages that are requested.
    Excluded,
    /// No transparent huge pages.
    Thp(NoThp),
}

/// One rung for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The rung.
    pub rung: Rung,
    /// The page size of the pool; 0 on other rungs, and if no pool can be used.
    pub size: u64,
    /// The bytes that the segment gets on this rung.
    pub bytes: u64,
    /// Pages that the pool can give; 0 on other rungs.
    pub pages: u64,
    /// Pages that a pool lacks. For [`NoThp::Scarce`], the bytes that the memory control group must
    /// leave.
    pub missing: u64,
    /// Why the rung gives less than requested.
    pub reason: Option<Reason>,
}

impl Step {
    const fn new(rung: Rung, bytes: u64, reason: Option<Reason>) -> Step {
        Step {
            rung,
            size: 0,
            bytes,
            pages: 0,
            missing: 0,
            reason,
        }
    }
}

/// The rungs of a segment, best first. The last one takes the rest.
#[derive(Debug, Clone, Copy)]
pub struct Rungs {
    steps: [Step; 4],
    len: usize,
}

impl Rungs {
    /// Returns the steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps[..self.len]
    }

    /// Returns the step that serves the bytes the last short step lacks; `None` if no step is
    /// short.
    pub fn below_short(&self) -> Option<&Step> {
        let steps = self.steps();
        let short = steps.iter().rposition(|step| step.reason.is_some())?;
        let rest = steps.get(short + 1..)?;
        rest.iter().find(|step| step.bytes > 0).or(rest.last())
    }

    fn push(&mut self, step: Step) {
        if let Some(place) = self.steps.get_mut(self.len) {
            *place = step;
            self.len += 1;
        }
    }
}

/// Returns the rungs of one segment.
pub fn ladder(facts: &Facts<'_>, wish: &Wish) -> Rungs {
    let mut rungs = Rungs {
        steps: [Step::new(Rung::Fail, 0, None); 4],
        len: 0,
    };
    let mut left = wish.bytes;
    if wish.pool {
        left = pools(facts, wish, left, &mut rungs);
    }
    let is_pool_only = wish.pool && wish.is_strict;
    if wants_thp(wish.pool, wish.fallback) && !is_pool_only {
        let step = transparent(facts, wish, left);
        left -= step.bytes;
        rungs.push(step);
    } else if !wish.pool {
        rungs.push(Step::new(Rung::Thp, 0, Some(Reason::Excluded)));
    }
    rungs.push(Step::new(last(wish), left, None));
    rungs
}

/// Adds the steps of the pools; returns the bytes that they leave.
fn pools(facts: &Facts<'_>, wish: &Wish, mut left: u64, rungs: &mut Rungs) -> u64 {
    if let Some(call) = facts.pool_barred {
        rungs.push(Step::new(Rung::Pool, 0, Some(Reason::Barred(call))));
        return left;
    }
    if facts.pools.is_empty() {
        rungs.push(Step::new(Rung::Pool, 0, Some(Reason::NoPool)));
    }
    for (at, pool) in facts.pools.iter().take(2).enumerate() {
        let (size, pages) = (pool.size, pool.obtainable());
        let wanted = match wish.grows {
            true => left.div_ceil(size),
            false => left / size,
        };
        let given = wanted.min(pages);
        let bytes = given.saturating_mul(size).min(left);
        let reason = match wanted {
            0 if at == 0 && left > 0 => Some(Reason::TooSmall { size }),
            _ if given < wanted => pool.reason(),
            _ => None,
        };
        left -= bytes;
        rungs.push(Step {
            size,
            pages,
            missing: wanted - given,
            ..Step::new(Rung::Pool, bytes, reason)
        });
    }
    left
}

/// Returns the step of transparent huge pages for the bytes that the pools leave.
fn transparent(facts: &Facts<'_>, wish: &Wish, left: u64) -> Step {
    let needed = left.saturating_mul(wish.room);
    let verdict = match facts.copy_barred {
        // Nothing is left to place, and the facts may not have been read.
        _ if left == 0 => Ok(()),
        Some(call) => Err(Reason::Barred(call)),
        None => {
            let verdict = facts.thp.verdict();
            let verdict = verdict.and_then(|()| facts.thp.has_room(needed));
            verdict.map_err(Reason::Thp)
        }
    };
    match verdict {
        Ok(()) => Step::new(Rung::Thp, left, None),
        Err(reason) => Step {
            missing: match reason {
                Reason::Thp(NoThp::Scarce) => needed.saturating_mul(2),
                _ => 0,
            },
            ..Step::new(Rung::Thp, 0, Some(reason))
        },
    }
}

/// Whether transparent huge pages are tried: below the pools if `pool`, otherwise as first rung.
pub const fn wants_thp(pool: bool, fallback: Fallback) -> bool {
    match fallback {
        Fallback::Thp => true,
        Fallback::Base => false,
        Fallback::None => !pool,
    }
}

/// Returns the rung that follows the pools for memory that grows. `has_thp` is the verdict
/// on transparent huge pages.
pub fn below_pools(fallback: Fallback, is_strict: bool, has_thp: bool) -> Rung {
    match fallback {
        _ if is_strict => Rung::Fail,
        Fallback::None => Rung::Fail,
        Fallback::Thp if has_thp => Rung::Thp,
        Fallback::Thp | Fallback::Base => Rung::Base,
    }
}

/// Returns the last rung. It is base pages for segments of a file, and for memory that grows if
/// only transparent huge pages are requested, but not required.
fn last(wish: &Wish) -> Rung {
    match wish.pool || wish.is_strict {
        true if wish.grows => below_pools(wish.fallback, wish.is_strict, false),
        _ => Rung::Base,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    const MIB: u64 = 1 << 20;

    fn pool(size: u64, pages: u64) -> Pool {
        Pool {
            size,
            pages,
            group: Rest::Unlimited,
            quota: u64::MAX,
            taken: 0,
        }
    }

    const WISH: Wish = Wish {
        pool: true,
        fallback: Fallback::Thp,
        is_strict: false,
        bytes: 22 * MIB,
        grows: false,
        room: 1,
    };

    const HEAP: Wish = Wish {
        bytes: 16 * MIB,
        grows: true,
        ..WISH
    };

    fn ladder_for(pools: &[Pool], thp: ThpFacts, wish: Wish) -> Rungs {
        let facts = Facts {
            pools,
            pool_barred: None,
            copy_barred: None,
            thp,
        };
        ladder(&facts, &wish)
    }

    fn rungs(pools: &[Pool], thp: ThpFacts, wish: Wish) -> Vec<(Rung, u64, Option<Reason>)> {
        let rungs = ladder_for(pools, thp, wish);
        let steps = rungs.steps().iter();
        steps.map(|s| (s.rung, s.bytes / MIB, s.reason)).collect()
    }

    #[test]
    fn the_next_rung_serves_the_pages_that_a_pool_lacks() {
        let short = Reason::Pool {
            size: 2 * MIB,
            pages: 8,
        };
        let on = ThpFacts::ON;
        assert_eq!(
            rungs(&[pool(2 * MIB, 8)], on, WISH),
            [
                (Rung::Pool, 16, Some(short)),
                (Rung::Thp, 6, None),
                (Rung::Base, 0, None)
            ]
        );
        let enough = ladder_for(&[pool(2 * MIB, 8)], ThpFacts::OFF, HEAP);
        assert!(enough.below_short().is_none(), "{enough:?}");
        let short = ladder_for(&[pool(2 * MIB, 7)], ThpFacts::OFF, HEAP);
        assert_eq!(short.below_short().map(|step| step.rung), Some(Rung::Base));
        let base = Wish {
            fallback: Fallback::Base,
            ..WISH
        };
        let base = rungs(&[pool(2 * MIB, 8)], on, base);
        assert_eq!(base[1..], [(Rung::Base, 6, None)]);
    }

    #[test]
    fn the_tightest_limit_is_the_reason() {
        let size = 2 * MIB;
        let reason = |pool: Pool| rungs(&[pool], ThpFacts::ON, HEAP)[0].2;
        let full = pool(size, 512);
        let rest = Rest::Bytes(4 * MIB);
        let group = Pool {
            group: rest,
            ..full
        };
        assert_eq!(reason(group), Some(Reason::Group { size, rest }));
        let quota = |quota| Pool { quota, ..full };
        assert_eq!(reason(quota(0)), Some(Reason::Quota { size }));
        assert_eq!(reason(quota(1)), None);
        let taken = Pool { taken: 510, ..full };
        assert_eq!(reason(taken), Some(Reason::Pool { size, pages: 512 }));
    }

    #[test]
    fn the_default_size_follows_a_larger_one() {
        let pools = [pool(1024 * MIB, 0), pool(2 * MIB, 512)];
        let strict = Wish {
            is_strict: true,
            ..HEAP
        };
        let heap = rungs(&pools, ThpFacts::ON, strict);
        let got: Vec<(Rung, u64)> = heap.iter().map(|step| (step.0, step.1)).collect();
        assert_eq!(got, [(Rung::Pool, 0), (Rung::Pool, 16), (Rung::Fail, 0)]);
        let data = rungs(&pools, ThpFacts::ON, WISH);
        let small = Some(Reason::TooSmall { size: 1024 * MIB });
        assert_eq!((data[0].2, data[1].1), (small, 22));
    }

    #[test]
    fn requests_without_a_pool_start_at_transparent_huge_pages() {
        let wish = |fallback, is_strict| Wish {
            pool: false,
            fallback,
            is_strict,
            ..HEAP
        };
        let on = |fallback| rungs(&[], ThpFacts::ON, wish(fallback, false));
        assert_eq!(on(Fallback::None)[0], (Rung::Thp, 16, None));
        let excluded = [
            (Rung::Thp, 0, Some(Reason::Excluded)),
            (Rung::Base, 16, None),
        ];
        assert_eq!(on(Fallback::Base), excluded);
        let off = rungs(&[], ThpFacts::OFF, wish(Fallback::Thp, true));
        let never = Some(Reason::Thp(NoThp::Never));
        assert_eq!(off, [(Rung::Thp, 0, never), (Rung::Fail, 16, None)]);
    }
}

//! What pools may take: never more than there is, and without `--force` not
//! what everything else needs to live.

use hugetools_model::{Bytes, Machine, PageCount};

use super::planned::Planned;
use crate::plan::Refusal;
use crate::request::Request;

/// The least that stays available, whatever the memory.
const LEAST: u64 = 512 << 20;

/// The same as a share of the memory, in hundredths.
const SHARE: u64 = 5;

/// Above this share of the memory, in hundredths, pools leave too little to
/// everything else.
const MOST: u64 = 90;

/// All pools together, in bytes.
struct Pools {
    /// What they keep now.
    before: u64,
    /// What they shall keep.
    after: u64,
    /// What they take of the memory that is available now: pages that came on
    /// demand become persistent, and free ones go back.
    taken: i128,
}

impl Pools {
    fn of<'a>(pools: impl Iterator<Item = &'a Planned<'a>>) -> Pools {
        let mut sum = Pools {
            before: 0,
            after: 0,
            taken: 0,
        };
        for planned in pools {
            let pool = planned.pool();
            let bytes = |pages: PageCount| pool.size.of(pages).map_or(u64::MAX, Bytes::get);
            let (before, after) = (pool.minimum(), planned.minimum());
            sum.before = sum.before.saturating_add(bytes(before));
            sum.after = sum.after.saturating_add(bytes(after));
            let more = bytes(after.saturating_sub(before.max(pool.total)));
            let idle = pool.available().get();
            let fewer = before.saturating_sub(after).get().min(idle);
            sum.taken += i128::from(more) - i128::from(bytes(PageCount::new(fewer)));
        }
        sum
    }
}

/// Why the pools may not become what they shall be.
pub(super) fn refusal<'a>(
    machine: &Machine,
    request: &Request,
    pools: impl Iterator<Item = &'a Planned<'a>>,
) -> Option<Refusal> {
    let pools = Pools::of(pools);
    let total = machine.meminfo.total.get();
    // A recorded tree may say nothing of its memory.
    if pools.after <= pools.before || total == 0 {
        return None;
    }
    let options: Vec<&str> = request
        .pool_min
        .iter()
        .map(|change| change.option.as_str())
        .collect();
    let options = options.join(" ");
    if pools.after > total {
        return Some(Refusal::Impossible(format!(
            "{options}: the pools would keep {} MB, and there are {} MB of memory",
            pools.after >> 20,
            total >> 20
        )));
    }
    let available = machine.meminfo.available?.get();
    let margin = margin(machine.meminfo.total)?;
    let rest = i128::from(available) - pools.taken;
    if request.growth.force || pools.taken <= 0 || rest >= i128::from(margin) {
        return None;
    }
    Some(Refusal::Harmful(format!(
        "{options}: of {} MB of available memory {} MB would be left, and {} MB shall stay for \
         everything else\n  ask for at most {} MB more, or do it all the same with --force",
        available >> 20,
        rest.max(0) >> 20,
        margin >> 20,
        available.saturating_sub(margin) >> 20
    )))
}

/// What of so much memory is everything else's.
pub(crate) fn margin(total: Bytes) -> Option<u64> {
    Some(LEAST.max(total.percent(SHARE)?.get()))
}

/// What should be said before pools take nearly all of the memory.
pub(super) fn crowding<'a>(
    machine: &Machine,
    pools: impl Iterator<Item = &'a Planned<'a>>,
) -> Option<String> {
    let pools = Pools::of(pools);
    let total = machine.meminfo.total;
    let crowded = pools.after > pools.before && pools.after > total.percent(MOST)?.get();
    crowded.then(|| {
        format!(
            "the pools shall keep {} of {} MB of memory: everything else must do with the rest",
            pools.after >> 20,
            total.get() >> 20
        )
    })
}

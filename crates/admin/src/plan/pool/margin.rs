//! What pools may take: never more than there is, and without `--force` not
//! what everything else needs to live.

use hugetools_model::hugetlb::node::{Node, NodePool};
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

/// What the pools of one node shall keep, in bytes.
struct Share<'m> {
    node: &'m Node,
    before: u64,
    after: u64,
}

impl<'m> Share<'m> {
    /// Of those nodes whose shares are set. Where the kernel divides a whole pool
    /// it keeps to the memory that there is.
    fn of_nodes<'a>(
        machine: &'m Machine,
        pools: impl Iterator<Item = &'a Planned<'a>> + Clone,
    ) -> Vec<Share<'m>> {
        let nodes = machine.nodes.iter();
        let share = |node: &'m Node| {
            let mut share = Share {
                node,
                before: 0,
                after: 0,
            };
            for planned in pools.clone() {
                let size = planned.pool().size;
                let bytes = |pages: PageCount| size.of(pages).map_or(u64::MAX, Bytes::get);
                let now = node.pool(size).map_or(PageCount::ZERO, NodePool::minimum);
                let changed = planned.nodes().find(|(id, ..)| *id == node.id);
                let after = changed.map_or(now, |(_, _, after)| after);
                share.before = share.before.saturating_add(bytes(now));
                share.after = share.after.saturating_add(bytes(after));
            }
            share
        };
        let shares = nodes.map(share);
        shares.filter(|share| share.after > share.before).collect()
    }

    /// More than all of the node's memory.
    fn impossible(&self) -> Option<String> {
        let (node, total) = (self.node.id, self.node.total.get());
        match total {
            0 => Some(format!("node {node} has no memory of its own")),
            _ if self.after <= total => None,
            _ => Some(format!(
                "the pools of node {node} would keep {} MB, and it has {} MB of memory",
                self.after >> 20,
                total >> 20
            )),
        }
    }

    /// What is left of a node is for data of the kernel that must lie there; other
    /// programs can go to other nodes.
    fn harmful(&self) -> Option<String> {
        let available = self.node.available?.get();
        let margin = self.node.total.percent(SHARE)?.get();
        let rest = available.saturating_sub(self.after.saturating_sub(self.before));
        (rest < margin).then(|| {
            format!(
                "of {} MB that are free on node {} {} MB would be left, and {} MB shall stay for \
                 everything else\n  ask for at most {} MB more there, or do it all the same with \
                 --force",
                available >> 20,
                self.node.id,
                rest >> 20,
                margin >> 20,
                available.saturating_sub(margin) >> 20
            )
        })
    }
}

/// Why a pool may not grow so far on demand.
pub(super) fn beyond_memory<'a>(
    machine: &Machine,
    request: &Request,
    mut pools: impl Iterator<Item = &'a Planned<'a>>,
) -> Option<Refusal> {
    let total = machine.meminfo.total.get();
    pools.find_map(|planned| {
        let size = planned.pool().size;
        let mut changes = request.pool_max.iter();
        let change = changes.rfind(|change| change.size == size)?;
        let bytes = size.of(planned.maximum()).map_or(u64::MAX, Bytes::get);
        let grows = planned.maximum() > planned.pool().maximum();
        (total > 0 && grows && bytes > total).then(|| {
            Refusal::Impossible(format!(
                "{}: the pool could grow to {} MB, and there are {} MB of memory",
                change.option,
                bytes >> 20,
                total >> 20
            ))
        })
    })
}

/// Why the pools may not become what they shall be.
pub(super) fn refusal<'a>(
    machine: &Machine,
    request: &Request,
    pools: impl Iterator<Item = &'a Planned<'a>> + Clone,
) -> Option<Refusal> {
    let nodes = Share::of_nodes(machine, pools.clone());
    let pools = Pools::of(pools);
    let total = machine.meminfo.total.get();
    let options: Vec<&str> = request
        .pool_min
        .iter()
        .map(|change| change.option.as_str())
        .collect();
    let options = options.join(" ");
    let mut nodes = nodes.iter();
    if let Some(why) = nodes.clone().find_map(Share::impossible) {
        return Some(Refusal::Impossible(format!("{options}: {why}")));
    }
    // A recorded tree may say nothing of its memory.
    if pools.after <= pools.before || total == 0 {
        return None;
    }
    if pools.after > total {
        return Some(Refusal::Impossible(format!(
            "{options}: the pools would keep {} MB, and there are {} MB of memory",
            pools.after >> 20,
            total >> 20
        )));
    }
    if request.growth.force {
        return None;
    }
    if let Some(why) = nodes.find_map(Share::harmful) {
        return Some(Refusal::Harmful(format!("{options}: {why}")));
    }
    let available = machine.meminfo.available?.get();
    let margin = margin(machine.meminfo.total)?;
    let rest = i128::from(available) - pools.taken;
    if pools.taken <= 0 || rest >= i128::from(margin) {
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

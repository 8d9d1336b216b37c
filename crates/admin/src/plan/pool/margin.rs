//! Limits for the pools: never more than the memory, and without `--force` not the
//! memory that other programs need.

use hugetools_model::hugetlb::node::{Node, NodePool};
use hugetools_model::{Bytes, Machine, PageCount};

use super::planned::Planned;
use crate::plan::Refusal;
use crate::request::Request;

/// Memory that must stay available (bytes), on any machine.
const MIN_AVAILABLE: u64 = 512 << 20;

/// Memory that must stay available (percent of the total). The larger of both counts.
const MIN_AVAILABLE_PERCENT: u64 = 5;

/// The sum of all pools in bytes.
struct Pools {
    /// Persistent pages now.
    before: u64,
    /// Persistent pages after the change.
    after: u64,
    /// Change of available memory. Surplus pages that become persistent cost
    /// nothing, and freed pages count as negative.
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

/// The sum of the pools on one node in bytes.
struct Share<'m> {
    node: &'m Node,
    before: u64,
    after: u64,
}

impl<'m> Share<'m> {
    /// Returns the nodes whose share is set and grows. When the kernel divides a
    /// whole pool, it stays within each node's memory by itself.
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

    /// Reports more pages than the node has memory.
    fn impossible(&self) -> Option<String> {
        let (node, total) = (self.node.id, self.node.total.get());
        match total {
            0 => Some(format!("node {node} has no memory of its own")),
            _ if self.after <= total => None,
            _ => Some(format!(
                "the pools of node {node} would take {} MB, but it has only {} MB of memory",
                self.after >> 20,
                total >> 20
            )),
        }
    }

    /// Reports too little memory left on a node. The rest is for kernel data that
    /// must be on the node; other programs can use other nodes.
    fn harmful(&self) -> Option<String> {
        let available = self.node.available?.get();
        let margin = self.node.total.percent(MIN_AVAILABLE_PERCENT)?.get();
        let rest = available.saturating_sub(self.after.saturating_sub(self.before));
        (rest < margin).then(|| {
            format!(
                "of {} MB available on node {}, {} MB would be left, but {} MB must stay for \
                 other programs\n  ask for at most {} MB more there, or override this with \
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

/// Refuses a maximum larger than the memory.
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
                "{}: the pool could grow to {} MB, but there are only {} MB of memory",
                change.option,
                bytes >> 20,
                total >> 20
            ))
        })
    })
}

/// Refuses minimums that are larger than the memory or leave too little of it.
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
    // A recorded tree may lack the total memory.
    if pools.after <= pools.before || total == 0 {
        return None;
    }
    if pools.after > total {
        return Some(Refusal::Impossible(format!(
            "{options}: the pools would take {} MB, but there are only {} MB of memory",
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
        "{options}: of {} MB of available memory, {} MB would be left, but {} MB must stay for \
         other programs\n  ask for at most {} MB more, or override this with --force",
        available >> 20,
        rest.max(0) >> 20,
        margin >> 20,
        available.saturating_sub(margin) >> 20
    )))
}

/// Bytes that must stay available on a machine with `total` memory.
fn margin(total: Bytes) -> Option<u64> {
    Some(MIN_AVAILABLE.max(total.percent(MIN_AVAILABLE_PERCENT)?.get()))
}

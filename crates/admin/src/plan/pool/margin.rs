//! Limits for the pools: they never exceed RAM, and without `--force` they leave a margin for
//! other programs.

use hugetools_model::hugetlb::node::{Node, NodePool};
use hugetools_model::{Bytes, Machine, PageCount};

use super::planned::Planned;
use crate::plan::Refusal;
use crate::request::Request;

/// Memory that must stay available (bytes), on any machine.
const MIN_AVAILABLE: u64 = 512 << 20;

/// Memory that must stay available (percent of the total), if that is more.
const MIN_AVAILABLE_PERCENT: u64 = 5;

/// The sum of all pools in bytes.
struct Pools {
    /// Persistent pages now.
    before: u64,
    /// Persistent pages after the change.
    after: u64,
    /// Available memory that the change takes; negative if it frees pages. Making surplus pages
    /// persistent costs nothing.
    cost: i128,
}

impl Pools {
    fn of<'a>(pools: impl Iterator<Item = &'a Planned<'a>>) -> Pools {
        let mut sum = Pools {
            before: 0,
            after: 0,
            cost: 0,
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
            sum.cost += i128::from(more) - i128::from(bytes(PageCount::new(fewer)));
        }
        sum
    }
}

/// Returns the nodes whose share the request raises, with the bytes of all their pools before
/// and after. Other nodes need no check: when the kernel divides a pool, it stays within each
/// node's memory.
fn growing_nodes<'m, 'a>(
    machine: &'m Machine,
    pools: impl Iterator<Item = &'a Planned<'a>> + Clone,
) -> Vec<(&'m Node, u64, u64)> {
    let share = |node: &'m Node| {
        let (mut before, mut after) = (0u64, 0u64);
        for planned in pools.clone() {
            let size = planned.pool().size;
            let bytes = |pages: PageCount| size.of(pages).map_or(u64::MAX, Bytes::get);
            let now = node.pool(size).map_or(PageCount::ZERO, NodePool::minimum);
            let later = planned.node(node.id).unwrap_or(now);
            before = before.saturating_add(bytes(now));
            after = after.saturating_add(bytes(later));
        }
        (node, before, after)
    };
    let shares = machine.nodes.iter().map(share);
    shares.filter(|(_, before, after)| after > before).collect()
}

/// Refuses a change that leaves less than `margin` bytes available. `on` names the node; empty for
/// the whole machine.
fn harmful(available: u64, cost: i128, margin: u64, on: &str) -> Option<String> {
    let rest = i128::from(available) - cost;
    (cost > 0 && rest < i128::from(margin)).then(|| {
        format!(
            "of {} MB of available memory{on}, {} MB would be left, but {} MB must stay for \
             other programs\n  ask for at most {} MB more, or override this with --force",
            available >> 20,
            rest.max(0) >> 20,
            margin >> 20,
            available.saturating_sub(margin) >> 20
        )
    })
}

/// Refuses to take `cost` bytes if too little memory would stay available.
pub(crate) fn leaves_too_little(machine: &Machine, cost: i128) -> Option<String> {
    let memory = &machine.meminfo;
    let margin = memory.total.percent(MIN_AVAILABLE_PERCENT)?.get();
    harmful(memory.available?.get(), cost, margin.max(MIN_AVAILABLE), "")
}

/// Refuses to raise a maximum beyond the memory.
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

/// Refuses to raise minimums beyond the memory or, without `--force`, into its margin.
pub(super) fn refusal<'a>(
    machine: &Machine,
    request: &Request,
    pools: impl Iterator<Item = &'a Planned<'a>> + Clone,
) -> Option<Refusal> {
    let nodes = growing_nodes(machine, pools.clone());
    let pools = Pools::of(pools);
    let options = request.pool_min.iter().map(|it| it.option.as_str());
    let options = options.collect::<Vec<_>>().join(" ");
    let impossible = |why| Some(Refusal::Impossible(format!("{options}: {why}")));
    for (node, _, after) in &nodes {
        let (id, total) = (node.id, node.total.get());
        if total == 0 {
            return impossible(format!("node {id} has no memory of its own"));
        }
        if *after > total {
            return impossible(format!(
                "the pools of node {id} would take {} MB, but it has only {} MB of memory",
                after >> 20,
                total >> 20
            ));
        }
    }
    let memory = &machine.meminfo;
    let total = memory.total.get();
    // A recorded tree may lack the total memory.
    if pools.after <= pools.before || total == 0 {
        return None;
    }
    if pools.after > total {
        return impossible(format!(
            "the pools would take {} MB, but there are only {} MB of memory",
            pools.after >> 20,
            total >> 20
        ));
    }
    if request.growth.force {
        return None;
    }
    let on_node = nodes.iter().find_map(|(node, before, after)| {
        let margin = node.total.percent(MIN_AVAILABLE_PERCENT)?.get();
        let on = format!(" on node {}", node.id);
        harmful(
            node.available?.get(),
            i128::from(after - before),
            margin,
            &on,
        )
    });
    let why = on_node.or_else(|| leaves_too_little(machine, pools.cost))?;
    Some(Refusal::Harmful(format!("{options}: {why}")))
}

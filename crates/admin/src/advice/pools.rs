//! Findings about pools and their nodes.

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount};

use super::Finding;

/// Pools that hold more than this percentage of memory are reported.
const MAX_PERCENT: u64 = 80;

pub(super) fn find(machine: &Machine, found: &mut Vec<Finding>) {
    if machine.pools.iter().all(|pool| pool.maximum().get() == 0) {
        found.push(Finding::new(
            "pool",
            "no pool has pages or may allocate any",
            "a program that asks for huge pages gets none, or fails",
            match machine.default_pool() {
                Some(pool) if pool.overcommit.is_some() => "hugeadm --pool-pages-max DEFAULT:10%",
                _ => "hugeadm --pool-pages-min DEFAULT:+1",
            },
        ));
    }
    for pool in &machine.pools {
        found.extend(balance(pool, machine));
    }
    found.extend(too_much(machine));
    found.extend(descriptors(machine));
}

/// Whether all pages of a pool are free and unreserved.
pub(super) fn is_idle(pool: &Pool) -> bool {
    pool.total.get() > 0 && pool.free == pool.total && pool.reserved.get() == 0
}

/// Formats the size of a pool: `16 pages of 2MB (32MB)`.
pub(super) fn total_with_bytes(pool: &Pool) -> String {
    let bytes = pool.size.of(pool.total).unwrap_or_default();
    format!("{} ({bytes})", pages(pool.total.get(), pool))
}

/// Formats a number of pages with their size.
pub(super) fn pages(number: u64, pool: &Pool) -> String {
    format!("{} of {}", PageCount::new(number).with_noun(), pool.size)
}

/// Reports a pool that is unevenly distributed over the nodes with memory.
fn balance(pool: &Pool, machine: &Machine) -> Option<Finding> {
    let shares = uneven(pool, machine)?;
    let listed: Vec<String> = shares
        .iter()
        .map(|(node, pages)| format!("{pages} on node {node}"))
        .collect();
    let total: u64 = shares.iter().map(|(_, pages)| pages).sum();
    Some(Finding::new(
        "node",
        format!(
            "the pages of {} are unevenly distributed: {}",
            pool.size,
            listed.join(", ")
        ),
        "threads on a node without free pages get slower ones of another node, or none",
        format!("hugeadm --pool-spread {}:{total}", pool.size),
    ))
}

/// Returns the pages of each node with memory, if two nodes differ by more than one page.
fn uneven(pool: &Pool, machine: &Machine) -> Option<Vec<(NodeId, u64)>> {
    let nodes = machine.nodes.iter().filter(|node| node.total.get() > 0);
    let shares: Vec<_> = nodes
        .filter_map(|node| Some((node.id, node.pool(pool.size)?.minimum().get())))
        .collect();
    let least = shares.iter().map(|(_, pages)| *pages).min()?;
    let most = shares.iter().map(|(_, pages)| *pages).max()?;
    (most > least + 1).then_some(shares)
}

/// Recommends shrinking the pool with the most free memory, down to the limit or until no page is
/// free.
fn too_much(machine: &Machine) -> Option<Finding> {
    let held = |pool: &Pool| pool.size.of(pool.total).map_or(u64::MAX, Bytes::get);
    let all = machine.pools.iter().map(held).fold(0, u64::saturating_add);
    let total = machine.meminfo.total;
    let over = all.checked_sub(total.percent(MAX_PERCENT)?.get() + 1)?;
    let spare = |pool: &Pool| pool.available().min(pool.total);
    let idle = |pool: &Pool| pool.size.of(spare(pool)).map_or(0, Bytes::get);
    let largest = machine.pools.iter().max_by_key(|pool| idle(pool))?;
    let pages = (over / largest.size.get() + 1).min(spare(largest).get());
    (total.get() > 0 && pages > 0).then(|| {
        Finding::new(
            "memory",
            format!(
                "the pools hold {} of {} MB of memory",
                all >> 20,
                total.get() >> 20
            ),
            "everything else shares the rest; the kernel kills programs when that runs out",
            format!("hugeadm --pool-pages-min {}:-{pages}", largest.size),
        )
    })
}

/// Reports the memory that HVO could free from the pools' page descriptors.
fn descriptors(machine: &Machine) -> Option<Finding> {
    const DESCRIPTOR_BYTES: u64 = 64;
    const REPORT_FROM_BYTES: u64 = 64 << 20;
    let base = machine.base_page?.get();
    let saved = machine.pools.iter().fold(0u64, |sum, pool| {
        let each = (pool.size.get() / base).saturating_mul(DESCRIPTOR_BYTES);
        let each = each.saturating_sub(base);
        sum.saturating_add(each.saturating_mul(pool.total.get()))
    });
    (machine.sysctl.hugetlb_optimize_vmemmap == Some(0) && saved >= REPORT_FROM_BYTES).then(|| {
        let saved = saved >> 20;
        Finding::new(
            "memory",
            format!("the kernel uses {saved} MB for descriptors of the pools' pages"),
            "HVO frees only the descriptors of pages allocated later: afterwards, empty the \
             pool and refill it",
            "hugeadm --hvo on",
        )
    })
}

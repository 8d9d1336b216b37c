//! Findings about pools and their nodes.

use hugetools_model::hugetlb::node::Node;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount};

use super::Finding;

/// Above this share of the memory, in hundredths, pools leave too little.
const MOST: u64 = 80;

/// Below this share of the memory, in hundredths, what is available is scarce.
const SCARCE: u64 = 5;

pub(super) fn find(machine: &Machine, found: &mut Vec<Finding>) {
    if machine.pools.iter().all(|pool| pool.maximum().get() == 0) {
        found.push(Finding::new(
            "pool",
            "no pool has pages or may make any",
            "a program that asks for huge pages gets none, or ends",
            match machine.default_pool() {
                Some(pool) if pool.overcommit.is_some() => "hugeadm --pool-pages-max DEFAULT:10%",
                _ => "hugeadm --pool-pages-min DEFAULT:+1",
            },
        ));
    }
    for pool in &machine.pools {
        found.extend(idle(pool, machine));
        found.extend(balance(pool, machine));
    }
    found.extend(too_much(machine));
    found.extend(descriptors(machine));
}

/// A pool that nobody uses, where memory is scarce. Elsewhere it may wait for a
/// program that is to start.
fn idle(pool: &Pool, machine: &Machine) -> Option<Finding> {
    let (available, total) = (machine.meminfo.available?, machine.meminfo.total);
    let is_scarce = available < total.percent(SCARCE)?;
    (is_idle(pool) && is_scarce).then(|| {
        Finding::new(
            "memory",
            format!(
                "{} nobody uses, and {} of {} MB of memory are left for everything else",
                held(pool),
                available.get() >> 20,
                total.get() >> 20
            ),
            "programs are swapped out or killed for want of memory that lies idle",
            format!("hugeadm --pool-pages-min {}:0", pool.size),
        )
    })
}

/// Whether all pages of a pool are free and promised to nobody.
pub(super) fn is_idle(pool: &Pool) -> bool {
    pool.total.get() > 0 && pool.free == pool.total && pool.reserved.get() == 0
}

/// What a pool holds: `16 pages of 2MB (32MB)`.
pub(super) fn held(pool: &Pool) -> String {
    let bytes = pool.size.of(pool.total).unwrap_or_default();
    format!("{} ({bytes})", pages(pool.total.get(), pool))
}

/// A number of pages with their size.
pub(super) fn pages(number: u64, pool: &Pool) -> String {
    format!("{} of {}", PageCount::new(number).with_noun(), pool.size)
}

/// Nodes that have memory and too little of a pool.
fn balance(pool: &Pool, machine: &Machine) -> Option<Finding> {
    let nodes = machine.nodes.iter().filter(|node| node.total.get() > 0);
    let share = |node: &Node| node.pool(pool.size).map(|pool| pool.minimum().get());
    let shares: Vec<(&Node, u64)> = nodes
        .filter_map(|node| Some((node, share(node)?)))
        .collect();
    let least = shares.iter().map(|(_, pages)| *pages).min()?;
    let most = shares.iter().map(|(_, pages)| *pages).max()?;
    // A page of difference is what an even division leaves.
    if most <= least + 1 {
        return None;
    }
    let listed: Vec<String> = shares
        .iter()
        .map(|(node, pages)| format!("{pages} on node {}", node.id))
        .collect();
    let total: u64 = shares.iter().map(|(_, pages)| pages).sum();
    Some(Finding::new(
        "node",
        format!(
            "the pages of {} lie unevenly: {}",
            pool.size,
            listed.join(", ")
        ),
        "threads on a node without free pages use those of another, more slowly, or none",
        format!("hugeadm --pool-spread {}:{total}", pool.size),
    ))
}

/// The pool that has most to give is to give back what is too much, as far as
/// nobody uses it.
fn too_much(machine: &Machine) -> Option<Finding> {
    let held = |pool: &Pool| pool.size.of(pool.total).map_or(u64::MAX, Bytes::get);
    let all = machine.pools.iter().map(held).fold(0, u64::saturating_add);
    let total = machine.meminfo.total;
    let over = all.checked_sub(total.percent(MOST)?.get() + 1)?;
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
            "everything else shares the rest, and is killed where that does not do",
            format!("hugeadm --pool-pages-min {}:-{pages}", largest.size),
        )
    })
}

/// What the descriptors of the pools' pages take, and could give back.
fn descriptors(machine: &Machine) -> Option<Finding> {
    const DESCRIPTOR: u64 = 64;
    const WORTH: u64 = 64 << 20;
    let base = machine.base_page?.get();
    let saved = machine.pools.iter().fold(0u64, |sum, pool| {
        let each = (pool.size.get() / base).saturating_mul(DESCRIPTOR);
        let each = each.saturating_sub(base);
        sum.saturating_add(each.saturating_mul(pool.total.get()))
    });
    (machine.sysctl.hugetlb_optimize_vmemmap == Some(0) && saved >= WORTH).then(|| {
        let saved = Bytes::new(saved).get() >> 20;
        Finding::new(
            "memory",
            format!("the kernel keeps {saved} MB of descriptors of the pools' pages"),
            "they can be given back (HVO) by pages that are made afterwards: empty the pool then, \
             and fill it again",
            "hugeadm --hvo on",
        )
    })
}

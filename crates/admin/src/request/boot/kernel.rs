//! Kernel parameters for the gigantic pages of the file: later than at boot, the kernel
//! hardly finds contiguous memory for them.

use std::collections::BTreeMap;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::{Machine, PageCount, PageSize};

use crate::request::{Place, PoolChange};

/// Returns the parameters for these pools, if any of them has gigantic pages.
pub(super) fn parameters(machine: &Machine, pools: &[PoolChange]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for pool in machine
        .pools
        .iter()
        .filter(|pool| is_gigantic(machine, pool.size))
    {
        if let Some(pages) = pages(pool.size, pools) {
            let size = pool.size.parameter();
            words.push(format!("hugepagesz={size} hugepages={pages}"));
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}

fn is_gigantic(machine: &Machine, size: PageSize) -> bool {
    let transparent = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    let pool = machine.pool(size);
    let lacks_overcommit = pool.is_some_and(|pool| pool.overcommit.is_none());
    transparent.map_or(lacks_overcommit, |usual| size > usual)
}

/// Returns the value of `hugepages=`: for each node where the file names nodes.
fn pages(size: PageSize, pools: &[PoolChange]) -> Option<String> {
    let mut whole = PageCount::ZERO;
    let mut nodes: BTreeMap<NodeId, PageCount> = BTreeMap::new();
    for change in pools.iter().filter(|change| change.size == size) {
        match &change.place {
            Place::Whole(to) => whole = to.of(PageCount::ZERO),
            Place::Nodes(shares) => {
                nodes.extend(shares.iter().map(|(id, to)| (*id, to.of(PageCount::ZERO))));
            }
        }
    }
    nodes.retain(|_, pages| pages.get() > 0);
    let shares = nodes.iter().map(|(id, pages)| format!("{id}:{pages}"));
    match (nodes.is_empty(), whole.get()) {
        (false, _) => Some(shares.collect::<Vec<_>>().join(",")),
        (true, 0) => None,
        (true, pages) => Some(pages.to_string()),
    }
}

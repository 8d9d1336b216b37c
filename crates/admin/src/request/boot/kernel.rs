//! Kernel parameters for gigantic pages: after boot, the kernel rarely finds contiguous memory for
//! them.

use std::collections::BTreeMap;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageCount, PageSize};

use crate::request::{Place, PoolChange};

/// Advises the administrator to add the parameters for gigantic pages of these pools; `None` if
/// the kernel has them.
pub fn advice(machine: &Machine, pools: &[PoolChange]) -> Option<String> {
    let parameters = parameters(machine, pools)?;
    let mut words = parameters.split(' ');
    if words.all(|word| machine.boot.words.iter().any(|has| has == word)) {
        return None;
    }
    Some(format!(
        "gigantic pages need these kernel parameters from the next boot on: {parameters}\n  \
         add them to the boot loader's configuration, such as GRUB_CMDLINE_LINUX in \
         /etc/default/grub"
    ))
}

/// Returns the parameters for these pools, if any of them has gigantic pages.
fn parameters(machine: &Machine, pools: &[PoolChange]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for pool in machine
        .pools
        .iter()
        .filter(|pool| is_gigantic(machine, pool.size))
    {
        if let Some(pages) = pages(machine, pool, pools) {
            let size = pool.size.parameter();
            words.push(format!("hugepagesz={size} hugepages={pages}"));
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// Whether pages exceed the PMD size; without THP, whether their pool lacks overcommit.
pub(crate) fn is_gigantic(machine: &Machine, size: PageSize) -> bool {
    let pmd_size = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    let pool = machine.pool(size);
    let lacks_overcommit = pool.is_some_and(|pool| pool.overcommit.is_none());
    pmd_size.map_or(lacks_overcommit, |pmd_size| size > pmd_size)
}

/// Returns the value of `hugepages=`, by node if a change names nodes.
fn pages(machine: &Machine, pool: &Pool, changes: &[PoolChange]) -> Option<String> {
    let mut whole = None;
    let mut nodes: BTreeMap<NodeId, PageCount> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.size == pool.size) {
        match &change.place {
            Place::Whole(to) => whole = Some(to.of(whole.unwrap_or(pool.minimum()))),
            Place::Nodes(shares) => {
                for (id, to) in shares {
                    let present = || machine.node_minimum(*id, pool.size);
                    let share = nodes.entry(*id).or_insert_with(present);
                    *share = to.of(*share);
                }
            }
        }
    }
    nodes.retain(|_, pages| pages.get() > 0);
    let shares = nodes.iter().map(|(id, pages)| format!("{id}:{pages}"));
    match nodes.is_empty() {
        false => Some(shares.collect::<Vec<_>>().join(",")),
        true => whole
            .filter(|pages| pages.get() > 0)
            .map(|pages| pages.to_string()),
    }
}

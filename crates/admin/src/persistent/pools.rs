//! Chooses what sets each pool at boot: the kernel's command line, sysctl.d or tmpfiles.d.

use hugetools_model::Machine;
use hugetools_model::hugetlb::node::{NodeId, node_pool_path};
use hugetools_model::hugetlb::pool::{Counter, Pool, Version, pool_dir};

use super::Persistent;

/// The first kernel that accepts `hugepages=0:64,3:10`; older ones read 0.
const NODE_LISTS: Version = (5, 16);

/// The place that sets a pool's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    CommandLine,
    Sysctl,
    /// `tmpfiles.d`, with a line per node.
    Tmpfiles,
}

pub(super) fn place(pool: &Pool, machine: &Machine) -> Place {
    let transparent = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    // Larger pages need contiguous memory that only the kernel's command line can get.
    let is_usual = transparent.map_or(pool.overcommit.is_some(), |usual| usual == pool.size);
    if uneven(pool, machine).is_some() {
        return match machine.version.is_some_and(|version| version < NODE_LISTS) {
            true => Place::Tmpfiles,
            false => Place::CommandLine,
        };
    }
    match pool.default && is_usual && !machine.boot.counts(pool.size, true) {
        true => Place::Sysctl,
        false => Place::CommandLine,
    }
}

/// Returns the pages of each node with memory, if they are unevenly distributed. An even
/// division leaves differences of one page.
pub(crate) fn uneven(pool: &Pool, machine: &Machine) -> Option<Vec<(NodeId, u64)>> {
    let nodes = machine.nodes.iter().filter(|node| node.total.get() > 0);
    let shares: Vec<_> = nodes
        .filter_map(|node| Some((node.id, node.pool(pool.size)?.minimum().get())))
        .collect();
    let least = shares.iter().map(|(_, pages)| *pages).min()?;
    let most = shares.iter().map(|(_, pages)| *pages).max()?;
    (most > least + 1).then_some(shares)
}

impl Persistent {
    pub(super) fn pools(&mut self, machine: &Machine) {
        let transparent = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
        for pool in &machine.pools {
            // Without this parameter the kernel uses the size of transparent huge pages.
            if pool.default && transparent.is_some_and(|usual| usual != pool.size) {
                let parameter = format!("default_hugepagesz={}", pool.size.parameter());
                self.kernel_parameters.push(parameter);
            }
        }
        for pool in &machine.pools {
            if pool.minimum().get() > 0 {
                self.pages(pool, machine);
            }
            self.overcommit(pool);
        }
        // The kernel ignores a second count for the same size.
        if machine.boot.words != self.kernel_parameters {
            self.kernel_parameters_to_remove = machine.boot.words.clone();
        }
    }

    fn pages(&mut self, pool: &Pool, machine: &Machine) {
        let pages = pool.minimum();
        let shares = uneven(pool, machine).map(|mut shares| {
            shares.retain(|(_, pages)| *pages > 0);
            shares
        });
        match place(pool, machine) {
            Place::Sysctl => self.sysctl.push(format!("vm.nr_hugepages = {pages}")),
            Place::Tmpfiles => {
                for (node, pages) in shares.into_iter().flatten() {
                    self.set(&node_pool_path(node, pool.size), pages);
                }
            }
            Place::CommandLine => {
                let listed = |shares: Vec<(NodeId, u64)>| {
                    let shares = shares.iter().map(|(id, pages)| format!("{id}:{pages}"));
                    shares.collect::<Vec<_>>().join(",")
                };
                let amount = shares.map_or_else(|| pages.to_string(), listed);
                let size = pool.size.parameter();
                self.kernel_parameters.push(format!("hugepagesz={size}"));
                self.kernel_parameters.push(format!("hugepages={amount}"));
            }
        }
    }

    fn overcommit(&mut self, pool: &Pool) {
        let overcommit = pool.overcommit.unwrap_or_default();
        match (overcommit.get(), pool.default) {
            (0, _) => {}
            (_, true) => self
                .sysctl
                .push(format!("vm.nr_overcommit_hugepages = {overcommit}")),
            (_, false) => {
                let file = Counter::NrOvercommitHugepages.file();
                self.set(&pool_dir(pool.size).join(file), overcommit);
            }
        }
    }
}

//! The whole state, from which plans are made.
//!
//! **Invariants.** The state is read once and never changed. A plan reads no other file. A
//! feature that the kernel lacks is empty or `None`.

use crate::hugetlb::boot::{self, Boot};
use crate::hugetlb::node::{self, Node, NodeId, NodePool};
use crate::hugetlb::pool::{self, Pool};
use crate::memory::meminfo::Meminfo;
use crate::memory::swap::{self, RamDisk, Swap};
use crate::memory::sysctl::Sysctl;
use crate::memory::userfault::UserFault;
use crate::memory::zone::{self, Zone};
use crate::mount::{self, Mount};
use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::thp::{Thp, ThpSettings};
use crate::units::size::{Bytes, PageCount, PageSize};

/// The kernel's huge page state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// `/proc/meminfo`
    pub meminfo: Meminfo,
    /// All pools, smallest pages first; empty if the kernel supports none.
    pub pools: Vec<Pool>,
    /// All nodes in ascending order; empty without `CONFIG_NUMA`.
    pub nodes: Vec<Node>,
    /// All hugetlbfs mounts in mount order.
    pub mounts: Vec<Mount>,
    /// The sizes whose pools respect the memory policy of the writing process
    /// (`nr_hugepages_mempolicy`).
    pub mempolicy: Vec<PageSize>,
    /// Transparent huge pages.
    pub thp: Option<Thp>,
    /// Other settings of transparent huge pages.
    pub thp_settings: ThpSettings,
    /// The zones of all nodes.
    pub zones: Vec<Zone>,
    /// The size of a base page, if known.
    pub base_page: Option<Bytes>,
    /// The swap areas.
    pub swaps: Vec<Swap>,
    /// RAM disks.
    pub ram_disks: Vec<RamDisk>,
    /// Other sysctls.
    pub sysctl: Sysctl,
    /// The permission to use `userfaultfd(2)`.
    pub userfault: UserFault,
    /// The pool parameters of the kernel command line.
    pub boot: Boot,
}

/// Files that every kernel has, however it is configured.
const ALWAYS: [&str; 2] = [MEMINFO, "/sys/kernel/mm"];

/// If this file is missing, `/proc` is not mounted.
pub const MEMINFO: &str = "/proc/meminfo";

/// Returns `/proc/meminfo` or `/sys/kernel/mm` if it is missing, as in a chroot without
/// `/proc` or `/sys`. Always `None` for a recorded machine.
pub fn missing_kernel_file(root: &Root) -> Option<&'static str> {
    let is_missing = |path: &&'static str| root.is_live() && !root.exists(&KPath::from(*path));
    ALWAYS.into_iter().find(is_missing)
}

/// The message if there is no pool.
pub const NONE_OFFERED: &str = "this machine supports no huge page pools";

impl Machine {
    /// Reads the state.
    pub fn read(root: &Root) -> Result<Machine, FileError> {
        let meminfo = Meminfo::read(root)?;
        let mut pools = pool::read(root, &meminfo)?;
        let zones = zone::read(root)?;
        let base_page = zone::base_page_size(root, meminfo.total, &zones)?;
        pool::forget_gigantic_overcommit(root, base_page, &mut pools)?;
        let mut mounts = mount::read(root)?;
        mounts.retain(Mount::is_hugetlbfs);
        let thp = Thp::read(root)?;
        let sizes = thp.as_ref().map(|thp| thp.sizes.as_slice());
        Ok(Machine {
            mempolicy: pool::with_mempolicy(root, &pools),
            pools,
            nodes: node::read(root)?,
            mounts,
            thp_settings: ThpSettings::read(root, sizes.unwrap_or_default())?,
            thp,
            zones,
            base_page,
            swaps: swap::read(root)?,
            ram_disks: swap::ram_disks(root)?,
            sysctl: Sysctl::read(root)?,
            userfault: UserFault::read(root)?,
            meminfo,
            boot: boot::read(root)?,
        })
    }

    /// Returns the pool of the kernel's default size.
    pub fn default_pool(&self) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.default)
    }

    /// Returns the pool of a size.
    pub fn pool(&self, size: PageSize) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.size == size)
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Returns the persistent pages of a size on a node.
    pub fn node_minimum(&self, id: NodeId, size: PageSize) -> PageCount {
        let share = self.node(id).and_then(|node| node.pool(size));
        share.map_or(PageCount::ZERO, NodePool::minimum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(archive: &str) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        crate::fixture::unpack(archive, dir.path()).unwrap();
        Machine::read(&Root::at(dir.path()).unwrap()).unwrap()
    }

    /// Lists the sizes of a machine, with brackets around those without overcommit.
    fn sizes(archive: &str) -> String {
        let pools = read(archive).pools;
        let sizes = pools.iter().map(|pool| match pool.overcommit {
            Some(_) => pool.size.to_string(),
            None => format!("[{}]", pool.size),
        });
        sizes.collect::<Vec<_>>().join(" ")
    }

    macro_rules! machine {
        ($name:literal) => {
            include_str!(concat!("../../../tests/fixtures/", $name, ".tree"))
        };
    }

    #[test]
    fn gigantic_sizes_have_no_overcommit() {
        assert_eq!(sizes(machine!("x86_64-8node")), "2MB [1GB]");
        assert_eq!(sizes(machine!("x86_64-6.18-mthp")), "2MB [1GB]");
        assert_eq!(sizes(machine!("x86_64-no-1g")), "2MB");
        assert_eq!(sizes(machine!("aarch64-4k")), "64KB 2MB [32MB] [1GB]");
        assert_eq!(sizes(machine!("ppc64le-power8-hash")), "16MB");
        assert_eq!(sizes(machine!("ppc64le-power9-radix")), "2MB [1GB]");
        assert_eq!(sizes(machine!("ppc64le-power9-hash")), "");
        assert_eq!(sizes(machine!("s390x")), "");
    }

    #[test]
    fn every_machine_has_a_base_page_size() {
        let base = |archive| read(archive).base_page.unwrap().get() >> 10;
        assert_eq!(base(machine!("x86_64-8node")), 4);
        // When this machine was recorded, its zones managed only half of their memory.
        assert_eq!(base(machine!("x86_64-6.18-mthp")), 4);
        assert_eq!(base(machine!("aarch64-4k")), 4);
        assert_eq!(base(machine!("ppc64le-power8-hash")), 64);
        assert_eq!(base(machine!("ppc64le-power9-hash")), 64);
        assert_eq!(base(machine!("s390x")), 4);
    }

    #[test]
    fn later_kernels_have_overcommit_for_all_sizes() {
        let archive = machine!("x86_64-8node").replace("osrelease = 6.1.0", "osrelease = 6.19.0");
        assert_eq!(sizes(&archive), "2MB 1GB");
    }

    #[test]
    fn nodes_have_shares_of_pools() {
        let machine = read(machine!("x86_64-8node"));
        let size = machine.default_pool().unwrap().size;
        let shares: Vec<u64> = machine
            .nodes
            .iter()
            .map(|node| node.pool(size).unwrap().minimum().get())
            .collect();
        assert_eq!(shares, [64, 0, 0, 10, 0, 0, 0, 0]);
        assert_eq!(machine.node(NodeId::new(4)).unwrap().total.get(), 0);
    }
}

//! Everything at once: the state that plans are made from.

use serde::Serialize;

use crate::error::FileError;
use crate::meminfo::Meminfo;
use crate::mount::{self, Mount};
use crate::node::{self, Node, NodeId};
use crate::pool::{self, Pool};
use crate::root::Root;
use crate::size::PageSize;
use crate::sysctl::Sysctl;
use crate::thp::Thp;

/// The kernel's huge page state, read once and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// `/proc/meminfo`
    pub meminfo: Meminfo,
    /// All pools, smallest pages first; empty where the kernel offers none.
    pub pools: Vec<Pool>,
    /// All nodes, lowest number first; empty without `CONFIG_NUMA`.
    pub nodes: Vec<Node>,
    /// All hugetlbfs mounts, in the order in which they were made.
    pub mounts: Vec<Mount>,
    /// Transparent huge pages.
    pub thp: Option<Thp>,
    /// The other sysctls.
    pub sysctl: Sysctl,
}

impl Machine {
    /// Reads the state.
    ///
    /// # Errors
    /// When a file that exists cannot be read or makes no sense.
    pub fn read(root: &Root) -> Result<Machine, FileError> {
        let meminfo = Meminfo::read(root)?;
        let pools = pool::read(root, &meminfo)?;
        let mut mounts = mount::read(root)?;
        mounts.retain(Mount::is_hugetlbfs);
        Ok(Machine {
            pools,
            nodes: node::read(root)?,
            mounts,
            thp: Thp::read(root)?,
            sysctl: Sysctl::read(root)?,
            meminfo,
        })
    }

    /// The pool of the kernel's default size.
    pub fn default_pool(&self) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.default)
    }

    /// The pool of a size.
    pub fn pool(&self, size: PageSize) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.size == size)
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }
}

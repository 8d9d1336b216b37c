//! Memory nodes: `/sys/devices/system/node`.

use std::collections::BTreeSet;

use hugetools_kernfs::pool::count;
use serde::Serialize;

use crate::hugetlb::pool::{NR_HUGEPAGES, sizes_in};
use crate::memory::meminfo::parse_node_line;
use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::list::parse_list;
use crate::units::size::{Bytes, PageCount, PageSize};

/// The kernel's number of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct NodeId(u32);

impl NodeId {
    /// Node `n`.
    pub const fn new(n: u32) -> NodeId {
        NodeId(n)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One online node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number; numbers may have gaps.
    pub id: NodeId,
    /// Its memory; zero for a node with CPUs only.
    pub total: Bytes,
    /// Free memory, page cache and reclaimable slab; `None` if the kernel doesn't report it.
    pub available: Option<Bytes>,
    /// Its share of each pool, smallest pages first.
    pub pools: Vec<NodePool>,
}

/// A node's share of the pool of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePool {
    /// The size of its pages.
    pub size: PageSize,
    /// Total pages on this node, surplus pages included.
    pub total: PageCount,
    /// Free pages. The kernel has no reservations per node.
    pub free: PageCount,
    /// Surplus pages, above the persistent pool.
    pub surplus: PageCount,
}

impl Node {
    /// Returns the node's share of the pool of a size.
    pub fn pool(&self, size: PageSize) -> Option<&NodePool> {
        self.pools.iter().find(|pool| pool.size == size)
    }
}

impl NodePool {
    /// Returns the persistent pages, which stay in the pool when freed.
    pub fn minimum(&self) -> PageCount {
        self.total.saturating_sub(self.surplus)
    }
}

/// Returns the file that sets a node's share of a pool. The kernel has no overcommit per node.
pub fn node_pool_path(node: NodeId, size: PageSize) -> KPath {
    node_pool_dir(node, size).join(NR_HUGEPAGES)
}

/// Returns the file that counts a node's surplus pages of a size.
pub fn node_surplus_path(node: NodeId, size: PageSize) -> KPath {
    node_pool_dir(node, size).join("surplus_hugepages")
}

/// Returns the write-only file that compacts a node's memory.
pub fn node_compact_path(node: NodeId) -> KPath {
    node_dir().join(format_args!("node{node}/compact"))
}

fn node_dir() -> KPath {
    KPath::from("/sys/devices/system/node")
}

fn node_pool_dir(node: NodeId, size: PageSize) -> KPath {
    node_dir()
        .join(format_args!("node{node}"))
        .join(format_args!("hugepages/hugepages-{}kB", size.kib()))
}

/// Returns the online nodes; `None` without `CONFIG_NUMA`, or if the list is invalid.
pub fn online(root: &Root) -> Result<Option<BTreeSet<u32>>, FileError> {
    let bytes = root.read_opt(&node_dir().join("online"))?;
    Ok(bytes.and_then(|bytes| parse_list(std::str::from_utf8(&bytes).ok()?)))
}

/// Returns the free pages of a size on one node; `None` if it has no such pool.
pub fn free_pages(
    root: &Root,
    node: NodeId,
    size: PageSize,
) -> Result<Option<PageCount>, FileError> {
    let path = node_pool_dir(node, size).join("free_hugepages");
    Ok(root.number_opt(&path)?.map(count).map(PageCount::new))
}

/// Reads all nodes in ascending order; none without `CONFIG_NUMA`.
pub fn read(root: &Root) -> Result<Vec<Node>, FileError> {
    let mut nodes = Vec::new();
    for name in root.list(&node_dir())? {
        let number = name.to_str().and_then(|name| name.strip_prefix("node"));
        let Some(id) = number.and_then(|number| number.parse().ok()).map(NodeId) else {
            continue;
        };
        let (total, available) = read_memory(root, id)?;
        nodes.push(Node {
            id,
            total,
            available,
            pools: read_pools(root, id)?,
        });
    }
    nodes.sort_by_key(|node| node.id);
    Ok(nodes)
}

fn read_memory(root: &Root, id: NodeId) -> Result<(Bytes, Option<Bytes>), FileError> {
    let path = node_dir().join(format_args!("node{id}/meminfo"));
    let Some(bytes) = root.read_opt(&path)? else {
        return Ok((Bytes::default(), None));
    };
    let line = |name: &str| parse_node_line(&bytes, name);
    let read = || -> Result<_, String> {
        let total = line("MemTotal:")?.unwrap_or_default();
        let mut available = line("MemFree:")?;
        for name in ["Active(file):", "Inactive(file):", "SReclaimable:"] {
            let more = line(name)?.unwrap_or_default().get();
            available = available.map(|sum| Bytes::new(sum.get().saturating_add(more)));
        }
        Ok((total, available))
    };
    read().map_err(|what| FileError::content(&path, what))
}

fn read_pools(root: &Root, id: NodeId) -> Result<Vec<NodePool>, FileError> {
    let mut pools = Vec::new();
    for size in sizes_in(root, &node_dir().join(format_args!("node{id}/hugepages")))? {
        let dir = node_pool_dir(id, size);
        let number = |name: &str| root.number_opt(&dir.join(name));
        let count = |name: &str| Ok(number(name)?.map(count).map(PageCount::new));
        let Some(total) = count(NR_HUGEPAGES)? else {
            continue;
        };
        pools.push(NodePool {
            size,
            total,
            free: count("free_hugepages")?.unwrap_or(PageCount::ZERO),
            surplus: count("surplus_hugepages")?.unwrap_or(PageCount::ZERO),
        });
    }
    Ok(pools)
}

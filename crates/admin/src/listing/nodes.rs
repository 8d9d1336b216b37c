//! `--pool-list-nodes`: each node's share of every pool.

use std::fmt::Write;

use hugetools_model::hugetlb::node::{Node, NodeId};
use hugetools_model::{PageCount, PageSize};
use serde::Serialize;

/// A row: a node's share of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeRow {
    /// The node.
    pub node: NodeId,
    /// The page size.
    pub size: PageSize,
    /// The persistent pages.
    pub minimum: PageCount,
    /// All pages, with surplus pages.
    pub current: PageCount,
    /// Free pages.
    pub free: PageCount,
    /// Pages above the minimum.
    pub surplus: PageCount,
}

/// Returns the rows, sorted by size and node.
pub fn node_rows(nodes: &[Node]) -> Vec<NodeRow> {
    let of = |node: &Node| {
        let id = node.id;
        let row = move |pool: &hugetools_model::hugetlb::node::NodePool| NodeRow {
            node: id,
            size: pool.size,
            minimum: pool.minimum(),
            current: pool.total,
            free: pool.free,
            surplus: pool.surplus,
        };
        node.pools.iter().map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<NodeRow> = nodes.iter().flat_map(of).collect();
    rows.sort_by_key(|row| (row.size, row.node));
    rows
}

/// Formats the table.
pub fn node_list(rows: &[NodeRow]) -> String {
    let mut table = format!(
        "{:>10} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
        "Size", "Node", "Minimum", "Current", "Free", "Surplus"
    );
    for row in rows {
        let (size, node) = (row.size.get(), row.node);
        let (minimum, current) = (row.minimum, row.current);
        let (free, surplus) = (row.free, row.surplus);
        let _ = writeln!(
            table,
            "{size:>10} {node:>8} {minimum:>8} {current:>8} {free:>8} {surplus:>8}"
        );
    }
    table
}

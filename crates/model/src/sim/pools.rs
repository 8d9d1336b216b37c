//! Resizes pools and updates all their files.

use std::io;

use super::Sim;
use crate::hugetlb::node::{self, NodeId};
use crate::hugetlb::pool::{self, NR_HUGEPAGES, Pool};
use crate::machine::Machine;
use crate::root::Root;
use crate::root::kpath::KPath;
use crate::units::size::PageSize;

impl Sim {
    fn limit(&self, node: Option<NodeId>, size: PageSize, pages: u64) -> u64 {
        let room = self.room.get(&(node, size)).copied();
        pages.min(room.unwrap_or(u64::MAX))
    }

    pub(super) fn resize(&self, machine: &Machine, pool: &Pool, asked: u64) -> io::Result<()> {
        let got = self.limit(None, pool.size, asked);
        let with_memory: Vec<NodeId> = machine
            .nodes
            .iter()
            .filter(|node| node.total.get() > 0)
            .map(|node| node.id)
            .collect();
        let mut left = got;
        for (done, node) in with_memory.iter().enumerate() {
            let share = left / u64::try_from(with_memory.len() - done).map_err(io::Error::other)?;
            self.put(&node::node_pool_path(*node, pool.size), &share.to_string())?;
            left -= share;
        }
        self.show(pool, got)
    }

    pub(super) fn resize_node(
        &self,
        machine: &Machine,
        pool: &Pool,
        id: NodeId,
        asked: u64,
    ) -> io::Result<()> {
        let has_memory = machine.node(id).is_some_and(|node| node.total.get() > 0);
        let asked = if has_memory { asked } else { 0 };
        let got = self.limit(Some(id), pool.size, asked);
        self.put(&node::node_pool_path(id, pool.size), &got.to_string())?;
        let others = machine.nodes.iter().filter(|node| node.id != id);
        let others = others.filter_map(|node| node.pool(pool.size));
        let total = others.map(|pool| pool.total.get()).sum::<u64>() + got;
        self.show(pool, total)
    }

    /// Writes the pool's counters. Used pages beyond the persistent ones become surplus pages.
    fn show(&self, pool: &Pool, persistent: u64) -> io::Result<()> {
        let used = self.used.get(&pool.size).copied().unwrap_or(0);
        let total = persistent.max(used);
        let dir = pool::pool_dir(pool.size);
        for (file, count) in [
            ("nr_hugepages", total),
            ("nr_hugepages_mempolicy", total),
            ("free_hugepages", total - used),
            ("surplus_hugepages", total - persistent),
        ] {
            self.put(&dir.join(file), &count.to_string())?;
        }
        if pool.default {
            let sysctl = pool::sysctl_path(NR_HUGEPAGES);
            self.put(&sysctl, &persistent.to_string())?;
            self.show_meminfo(total, total - used, total - persistent)?;
        }
        Ok(())
    }

    fn show_meminfo(&self, total: u64, free: u64, surplus: u64) -> io::Result<()> {
        let root = Root::at(&self.dir).map_err(io::Error::other)?;
        let path = KPath::from("/proc/meminfo");
        let bytes = root
            .read(&path)
            .map_err(|e| io::Error::other(e.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| match line.split_once(':') {
            Some(("HugePages_Total", _)) => format!("HugePages_Total: {total:7}"),
            Some(("HugePages_Free", _)) => format!("HugePages_Free:  {free:7}"),
            Some(("HugePages_Surp", _)) => format!("HugePages_Surp:  {surplus:7}"),
            _ => line.to_owned(),
        });
        self.put(&path, &lines.collect::<Vec<_>>().join("\n"))
    }
}

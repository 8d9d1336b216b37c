//! A kernel to test against: it answers what is written to the pools of a
//! recorded machine as a real one does, with less than was asked where it has
//! no room, with an error where it was told to refuse, and in all its views.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::machine::Machine;
use crate::node::{self, NodeId};
use crate::pool::{self, Counter, Pool};
use crate::root::{KPath, Root};
use crate::size::PageSize;

/// The simulated kernel of one tree.
#[derive(Debug)]
pub struct Sim {
    dir: PathBuf,
    room: BTreeMap<(Option<NodeId>, PageSize), u64>,
    better: BTreeMap<String, (PageSize, u64)>,
    trickle: BTreeMap<PageSize, u64>,
    used: BTreeMap<PageSize, u64>,
    refused: BTreeMap<String, i32>,
    writes_left: Option<u32>,
}

/// A handle that [`Root`] can clone.
#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<Mutex<Sim>>);

impl Shared {
    pub(crate) fn new(sim: Sim) -> Shared {
        Shared(Arc::new(Mutex::new(sim)))
    }

    pub(crate) fn write(&self, path: &KPath, value: &str) -> io::Result<()> {
        let mut sim = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        sim.write(path, value)
    }
}

impl Sim {
    /// A kernel with room for everything, over the files below `dir`.
    pub fn new(dir: &Path) -> Sim {
        Sim {
            dir: dir.to_owned(),
            room: BTreeMap::new(),
            better: BTreeMap::new(),
            trickle: BTreeMap::new(),
            used: BTreeMap::new(),
            refused: BTreeMap::new(),
            writes_left: None,
        }
    }

    /// It finds memory for so many pages of a size at most, on one node or on
    /// all together.
    #[must_use]
    pub fn room(mut self, node: Option<NodeId>, size: PageSize, pages: u64) -> Sim {
        self.room.insert((node, size), pages);
        self
    }

    /// After something was written to this file it finds memory for more pages
    /// of a size, so many on all nodes together.
    #[must_use]
    pub fn room_after(mut self, path: &str, size: PageSize, pages: u64) -> Sim {
        self.better.insert(path.to_owned(), (size, pages));
        self
    }

    /// Each time that the pool of a size is written to, it finds memory for so
    /// many pages more.
    #[must_use]
    pub fn trickle(mut self, size: PageSize, pages: u64) -> Sim {
        self.trickle.insert(size, pages);
        self
    }

    /// So many pages of a size are in use and cannot go.
    #[must_use]
    pub fn used(mut self, size: PageSize, pages: u64) -> Sim {
        self.used.insert(size, pages);
        self
    }

    /// Writing to this file fails.
    #[must_use]
    pub fn refuse(mut self, path: &str, errno: i32) -> Sim {
        self.refused.insert(path.to_owned(), errno);
        self
    }

    /// After so many writes every further one fails with `EIO`.
    #[must_use]
    pub fn fail_after(mut self, writes: u32) -> Sim {
        self.writes_left = Some(writes);
        self
    }

    fn write(&mut self, path: &KPath, value: &str) -> io::Result<()> {
        if let Some(errno) = self.refused.get(path.as_str()) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        match &mut self.writes_left {
            Some(0) => return Err(io::Error::from_raw_os_error(libc::EIO)),
            Some(left) => *left -= 1,
            None => {}
        }
        if let Some((size, pages)) = self.better.get(path.as_str()) {
            self.room.insert((None, *size), *pages);
        }
        let machine = self.machine()?;
        let number = || value.parse().map_err(|_| invalid());
        for pool in &machine.pools {
            let nr = pool_paths(pool, Counter::NrHugepages);
            let overcommit = pool_paths(pool, Counter::NrOvercommitHugepages);
            if nr.contains(path) {
                let result = self.resize(&machine, pool, number()?);
                self.grow_room(pool.size);
                return result;
            }
            if overcommit.contains(path) {
                pool.overcommit.ok_or_else(invalid)?;
                number()?;
                return overcommit.iter().try_for_each(|path| self.put(path, value));
            }
            if *path == pool::demote_path(pool.size) {
                return self.demote(&machine, pool, None, number()?);
            }
            for node in &machine.nodes {
                if *path == node::node_pool_path(node.id, pool.size) {
                    return self.resize_node(&machine, pool, node.id, number()?);
                }
                if *path == node::node_demote_path(node.id, pool.size) {
                    return self.demote(&machine, pool, Some(node.id), number()?);
                }
            }
        }
        match is_press(path) {
            true => Ok(()),
            false => self.put(path, value),
        }
    }

    fn grow_room(&mut self, size: PageSize) {
        let more = self.trickle.get(&size).copied().unwrap_or(0);
        if let Some(room) = self.room.get_mut(&(None, size)) {
            *room += more;
        }
    }

    /// Splits pages that nobody uses, on one node or on the lowest that have
    /// some.
    fn demote(
        &self,
        machine: &Machine,
        pool: &Pool,
        node: Option<NodeId>,
        asked: u64,
    ) -> io::Result<()> {
        let small = pool.demote_size.and_then(|size| machine.pool(size));
        let small = small.ok_or_else(invalid)?;
        let each = pool.size.get() / small.size.get();
        let mut left = asked.min(pool.available().get());
        let mut split = 0;
        for found in &machine.nodes {
            let share = |size| found.pool(size).map_or(0, |pool| pool.total.get());
            let here = match node.is_none_or(|id| id == found.id) {
                true => left.min(share(pool.size)),
                false => 0,
            };
            for (size, count) in [
                (pool.size, share(pool.size) - here),
                (small.size, share(small.size) + here * each),
            ] {
                self.put(&node::node_pool_path(found.id, size), &count.to_string())?;
            }
            left -= here;
            split += here;
        }
        self.show(pool, pool.minimum().get() - split)?;
        self.show(small, small.minimum().get() + split * each)
    }

    fn machine(&self) -> io::Result<Machine> {
        let root = Root::at(&self.dir).map_err(io::Error::other)?;
        Machine::read(&root).map_err(|error| io::Error::other(error.to_string()))
    }

    fn limit(&self, node: Option<NodeId>, size: PageSize, pages: u64) -> u64 {
        let room = self.room.get(&(node, size)).copied();
        pages.min(room.unwrap_or(u64::MAX))
    }

    fn resize(&self, machine: &Machine, pool: &Pool, asked: u64) -> io::Result<()> {
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

    fn resize_node(
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

    /// Writes the persistent pages of a pool into all views of it.
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
            let sysctl = pool::sysctl_path(Counter::NrHugepages);
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

    fn put(&self, path: &KPath, text: &str) -> io::Result<()> {
        let host = self.dir.join(path.as_str().trim_start_matches('/'));
        let mut file = OpenOptions::new().write(true).truncate(true).open(host)?;
        file.write_all(format!("{text}\n").as_bytes())
    }
}

/// The write-only files that free and join memory, which no archive has.
fn is_press(path: &KPath) -> bool {
    let path = path.as_str();
    ["/compact_memory", "/drop_caches", "/compact"]
        .iter()
        .any(|name| path.ends_with(name))
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// The files that set a counter: the pool's own and, for the default size,
/// the sysctl.
fn pool_paths(pool: &Pool, counter: Counter) -> Vec<KPath> {
    let mut paths = vec![pool::pool_dir(pool.size).join(counter.file())];
    if pool.default {
        paths.push(pool::sysctl_path(counter));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::PageCount;

    const MACHINE: &str = include_str!("../../../tests/fixtures/x86_64-8node.tree");

    fn size(text: &str) -> PageSize {
        text.parse().unwrap()
    }

    fn with(set: impl Fn(Sim) -> Sim) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        crate::fixture::unpack(MACHINE, dir.path()).unwrap();
        let root = Root::simulated(dir.path(), set(Sim::new(dir.path())));
        (dir, root)
    }

    #[test]
    fn all_views_move_together() {
        let (_dir, root) = with(|sim| sim.room(None, size("2M"), 100));
        root.write(&KPath::from("/proc/sys/vm/nr_hugepages"), "120")
            .unwrap();
        let machine = Machine::read(&root).unwrap();
        let pool = machine.default_pool().unwrap();
        assert_eq!(
            (pool.total, pool.minimum()),
            (PageCount::new(100), PageCount::new(100))
        );
        assert_eq!(machine.meminfo.huge_total, Some(PageCount::new(100)));
        let shares = machine
            .nodes
            .iter()
            .map(|n| n.pool(pool.size).unwrap().total.get());
        assert_eq!(shares.sum::<u64>(), 100);
        assert_eq!(machine.nodes[4].pool(pool.size).unwrap().total.get(), 0);
    }

    #[test]
    fn memory_may_come_with_effort() {
        let two = size("2M");
        let (_dir, root) = with(|sim| {
            sim.room(None, two, 100)
                .room_after("/proc/sys/vm/compact_memory", two, 120)
                .trickle(two, 5)
        });
        let ask = || {
            let path = KPath::from("/proc/sys/vm/nr_hugepages");
            root.write(&path, "200").unwrap();
            root.number(&path).unwrap()
        };
        assert_eq!((ask(), ask()), (100, 105));
        root.write(&KPath::from("/proc/sys/vm/compact_memory"), "1")
            .unwrap();
        assert_eq!((ask(), ask()), (120, 125));
    }

    #[test]
    fn splitting_moves_pages_from_pool_to_pool() {
        let (_dir, root) = with(|sim| sim.used(size("1G"), 1));
        root.write(&node::node_pool_path(NodeId::new(3), size("1G")), "3")
            .unwrap();
        root.write(&pool::demote_path(size("1G")), "9").unwrap();
        let machine = Machine::read(&root).unwrap();
        let pages = |text| machine.pool(size(text)).unwrap().minimum().get();
        assert_eq!((pages("1G"), pages("2M")), (1, 74 + 2 * 512));
        let node = machine.node(NodeId::new(3)).unwrap();
        assert_eq!(node.pool(size("2M")).unwrap().total.get(), 10 + 2 * 512);
    }

    #[test]
    fn pages_in_use_become_surplus() {
        let (_dir, root) = with(|sim| sim.used(size("2M"), 30));
        root.write(&KPath::from("/proc/sys/vm/nr_hugepages"), "20")
            .unwrap();
        let pool = Machine::read(&root).unwrap().pools[0].clone();
        assert_eq!(
            (pool.total.get(), pool.surplus.get(), pool.minimum().get()),
            (30, 10, 20)
        );
    }

    #[test]
    fn it_refuses_what_it_was_told_to_and_gigantic_overcommit() {
        let (_dir, root) = with(|sim| {
            sim.refuse("/proc/sys/vm/nr_hugepages", libc::EPERM)
                .fail_after(1)
        });
        let write = |path: &'static str| root.write(&KPath::from(path), "1").unwrap_err().errno();
        assert_eq!(write("/proc/sys/vm/nr_hugepages"), Some(libc::EPERM));
        let gigantic = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_overcommit_hugepages";
        assert_eq!(write(gigantic), Some(libc::EINVAL));
        assert_eq!(write("/proc/sys/vm/hugetlb_shm_group"), Some(libc::EIO));
    }
}

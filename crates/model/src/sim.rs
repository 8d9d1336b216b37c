//! A simulated kernel for tests. It reacts to writes to the pools of a recorded machine: it
//! allocates fewer pages if memory is short, and returns errors on request.
//!
//! **Invariants.** After each write, a pool's files below `/sys/kernel/mm`, its sysctl,
//! `/proc/meminfo` and the `nr_hugepages` of its nodes agree; the sysctl and the nodes count
//! persistent pages only. Other files of nodes don't change.

mod pools;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::hugetlb::node::{self, NodeId};
use crate::hugetlb::pool::{self, NR_HUGEPAGES, NR_OVERCOMMIT_HUGEPAGES, Pool};
use crate::machine::Machine;
use crate::root::kpath::KPath;
use crate::root::{Kernel, Root};
use crate::units::size::PageSize;

/// The simulated kernel of one tree.
#[derive(Debug)]
pub struct Sim {
    dir: PathBuf,
    room: BTreeMap<(Option<NodeId>, PageSize), u64>,
    room_after_write: BTreeMap<String, (PageSize, u64)>,
    trickle: BTreeMap<PageSize, u64>,
    used: BTreeMap<PageSize, u64>,
    refused: BTreeMap<String, i32>,
    writes_left: Option<u32>,
}

impl Kernel for Sim {
    fn write(&mut self, path: &KPath, value: &str) -> io::Result<()> {
        if let Some(errno) = self.refused.get(path.as_str()) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        match &mut self.writes_left {
            Some(0) => return Err(io::Error::from_raw_os_error(libc::EIO)),
            Some(left) => *left -= 1,
            None => {}
        }
        if let Some((size, pages)) = self.room_after_write.get(path.as_str()) {
            self.room.insert((None, *size), *pages);
        }
        let machine = self.machine()?;
        let number = || value.parse().map_err(|_| invalid());
        for pool in &machine.pools {
            let nr = pool_paths(pool, NR_HUGEPAGES);
            let overcommit = pool_paths(pool, NR_OVERCOMMIT_HUGEPAGES);
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
            for node in &machine.nodes {
                if *path == node::node_pool_path(node.id, pool.size) {
                    return self.resize_node(&machine, pool, node.id, number()?);
                }
            }
        }
        match is_trigger_file(path) {
            true => Ok(()),
            false => self.put(path, value),
        }
    }
}

impl Sim {
    /// Returns a kernel with unlimited memory and the files below `dir`.
    pub fn new(dir: &Path) -> Sim {
        Sim {
            dir: dir.to_owned(),
            room: BTreeMap::new(),
            room_after_write: BTreeMap::new(),
            trickle: BTreeMap::new(),
            used: BTreeMap::new(),
            refused: BTreeMap::new(),
            writes_left: None,
        }
    }

    /// Limits the memory for a size to `pages` pages, on one node or on all together.
    #[must_use]
    pub fn room(mut self, node: Option<NodeId>, size: PageSize, pages: u64) -> Sim {
        self.room.insert((node, size), pages);
        self
    }

    /// At a write to this file, sets the limit of a size on all nodes together to `pages` pages.
    #[must_use]
    pub fn room_after(mut self, path: &str, size: PageSize, pages: u64) -> Sim {
        self.room_after_write.insert(path.to_owned(), (size, pages));
        self
    }

    /// Raises the limit on all nodes together, if there is one, by `pages` pages after each
    /// write to the pool's `nr_hugepages` (not a node's).
    #[must_use]
    pub fn trickle(mut self, size: PageSize, pages: u64) -> Sim {
        self.trickle.insert(size, pages);
        self
    }

    /// Marks `pages` pages of a size as in use; the pool keeps them.
    #[must_use]
    pub fn used(mut self, size: PageSize, pages: u64) -> Sim {
        self.used.insert(size, pages);
        self
    }

    /// Makes writes to this file fail.
    #[must_use]
    pub fn refuse(mut self, path: &str, errno: i32) -> Sim {
        self.refused.insert(path.to_owned(), errno);
        self
    }

    /// Fails all writes with `EIO` after the first `writes`.
    #[must_use]
    pub fn fail_after(mut self, writes: u32) -> Sim {
        self.writes_left = Some(writes);
        self
    }

    fn grow_room(&mut self, size: PageSize) {
        let more = self.trickle.get(&size).copied().unwrap_or(0);
        if let Some(room) = self.room.get_mut(&(None, size)) {
            *room += more;
        }
    }

    fn machine(&self) -> io::Result<Machine> {
        let root = Root::at(&self.dir).map_err(io::Error::other)?;
        Machine::read(&root).map_err(|error| io::Error::other(error.to_string()))
    }

    fn put(&self, path: &KPath, text: &str) -> io::Result<()> {
        let host = self.dir.join(path.as_str().trim_start_matches('/'));
        let mut file = OpenOptions::new().write(true).truncate(true).open(host)?;
        file.write_all(format!("{text}\n").as_bytes())
    }
}

/// Whether this write-only file drops caches or compacts memory. Most recorded machines lack it.
fn is_trigger_file(path: &KPath) -> bool {
    let path = path.as_str();
    ["/compact_memory", "/drop_caches", "/compact"]
        .iter()
        .any(|name| path.ends_with(name))
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// Returns the files that set a counter: the pool's and, for the default size, the sysctl.
fn pool_paths(pool: &Pool, file: &str) -> Vec<KPath> {
    let mut paths = vec![pool::pool_dir(pool.size).join(file)];
    if pool.default {
        paths.push(pool::sysctl_path(file));
    }
    paths
}

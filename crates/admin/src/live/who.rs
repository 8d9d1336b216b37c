//! Finds who holds pages of pools: all processes, all hugetlbfs mounts, all System V
//! segments, all control groups that this process may see.

mod attached;
mod files;
mod frames;
mod groups;
mod process;
mod sysv_shm;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::{FileError, PageSize, Root};

use crate::who::{Keeper, Kind, Object, Seen};
use frames::{Frames, Memory};

/// How often the look is repeated while pages come and go.
const TRIES: usize = 5;

/// Device and inode.
type Key = (u64, u64);

/// What is being found.
#[derive(Debug)]
struct Look<'r> {
    root: &'r Root,
    sizes: BTreeSet<u64>,
    seen: Seen,
    objects: BTreeMap<Key, Object>,
    /// Pages of the page cache that some process has mapped.
    mapped: BTreeMap<Key, Frames>,
    /// Pages of no file that were found in a process already.
    private: Frames,
    /// Private mappings whose first process is known.
    owners: BTreeSet<(Key, u64)>,
    /// Mounts that keep pages for themselves, by device.
    keepers: BTreeMap<u64, Keeper>,
    /// Whether a device is a hugetlbfs, as far as that is known. One that was unmounted
    /// lazily is in no table of mounts.
    devices: BTreeMap<u64, bool>,
    /// Where hugetlbfs mounts are.
    points: BTreeSet<PathBuf>,
    memory: Memory,
}

/// Looks until nothing has changed meanwhile, but not for ever.
///
/// # Errors
/// When the pools or nodes cannot be read.
pub fn look(root: &Root) -> Result<Seen, FileError> {
    let pools = || pool::read(root, &Meminfo::read(root)?);
    let mut before = pools()?;
    if !root.is_live() {
        return Ok(Seen {
            pools: before,
            unread: vec![String::from("processes and files: this is a recorded tree")],
            ..Seen::default()
        });
    }
    let mut tries = 1;
    loop {
        let mut seen = Look::new(root, &before)?.all();
        let after = pools()?;
        if after == before {
            return Ok(seen);
        }
        if tries == TRIES {
            seen.unread.push(String::from(
                "one moment: pages come and go all the time, and the figures are of several",
            ));
            return Ok(seen);
        }
        before = after;
        tries += 1;
    }
}

impl<'r> Look<'r> {
    fn new(root: &'r Root, pools: &[Pool]) -> Result<Look<'r>, FileError> {
        Ok(Look {
            root,
            sizes: pools.iter().map(|pool| pool.size.get()).collect(),
            seen: Seen {
                pools: pools.to_vec(),
                ..Seen::default()
            },
            objects: BTreeMap::new(),
            mapped: BTreeMap::new(),
            private: Frames::default(),
            owners: BTreeSet::new(),
            keepers: BTreeMap::new(),
            devices: BTreeMap::new(),
            points: BTreeSet::new(),
            memory: Memory::read(root)?,
        })
    }

    fn all(mut self) -> Seen {
        let mounts = files::all_mounts(self.root);
        let others = mounts.others.into_iter();
        self.devices.extend(others.map(|device| (device, false)));
        for mount in &mounts.huge {
            self.walk(mount);
        }
        self.processes();
        self.segments();
        self.groups();
        for (key, frames) in &self.mapped {
            if let Some(object) = self.objects.get_mut(key) {
                object.nodes = self.memory.nodes(frames);
            }
        }
        self.seen.keepers = self.keepers.into_iter().collect();
        self.seen.objects = self.objects.into_values().collect();
        self.seen.processes.retain(|it| it.pages + it.reserved > 0);
        self.seen
    }

    /// A page size that has a pool.
    fn size(&self, bytes: u64) -> Option<PageSize> {
        PageSize::new(bytes).filter(|_| self.sizes.contains(&bytes))
    }

    /// The file of this key, made from its metadata when it is seen first.
    fn object(&mut self, key: Key, size: PageSize, kind: Kind, stat: Stat) -> &mut Object {
        self.objects.entry(key).or_insert_with(|| Object {
            kind,
            device: key.0,
            size,
            pages: stat.allocated / size.get(),
            length: stat.length.div_ceil(size.get()),
            users: BTreeSet::new(),
            promised: BTreeSet::new(),
            nodes: BTreeMap::new(),
        })
    }

    fn unread(&mut self, why: String) {
        if !self.seen.unread.contains(&why) {
            self.seen.unread.push(why);
        }
    }
}

/// What a file has, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Stat {
    allocated: u64,
    length: u64,
}

impl Stat {
    fn of(found: &std::fs::Metadata) -> Stat {
        use std::os::unix::fs::MetadataExt;
        Stat {
            allocated: found.blocks() * 512,
            length: found.len(),
        }
    }
}

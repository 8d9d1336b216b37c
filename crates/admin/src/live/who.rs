//! Scans the machine for users of pool pages: processes, hugetlbfs mounts and System V
//! segments, as far as this process may see them.

mod attached;
mod files;
mod pages;
mod process;
mod sysv_shm;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::{FileError, PageSize, Root};

use crate::listing::who::{Kind, Object, Snapshot};
use pages::PageId;

/// Maximum number of scans while the pools keep changing. The last is reported as inconsistent.
const MAX_SCANS: usize = 5;

/// Device and inode number.
type FileKey = (u64, u64);

/// A scan in progress.
#[derive(Debug)]
struct Scan<'r> {
    root: &'r Root,
    sizes: BTreeSet<u64>,
    seen: Snapshot,
    objects: BTreeMap<FileKey, Object>,
    /// Private pages found so far: a page that processes share since a fork counts once.
    private_pages: BTreeSet<PageId>,
    /// Private mappings found so far. The first process owns the reservation.
    private_mappings: BTreeSet<(FileKey, u64)>,
    /// Whether a device is a hugetlbfs, as far as known. Lazily unmounted ones are
    /// in no mount table.
    devices: BTreeMap<u64, bool>,
    /// Mount points of hugetlbfs, in all mount namespaces.
    points: BTreeSet<PathBuf>,
    /// Mount namespaces whose mount points are known.
    namespaces: BTreeSet<PathBuf>,
}

/// Scans the machine, again if the pools changed during the scan.
pub fn scan(root: &Root) -> Result<Snapshot, FileError> {
    let pools = || pool::read(root, &Meminfo::read(root)?);
    let mut before = pools()?;
    if !root.is_live() {
        return Ok(Snapshot {
            pools: before,
            unread: vec![String::from("processes and files: this is a recorded tree")],
            ..Snapshot::default()
        });
    }
    let mut tries = 1;
    loop {
        let mut seen = Scan::new(root, &before).scan_all();
        let after = pools()?;
        if after == before {
            return Ok(seen);
        }
        if tries == MAX_SCANS {
            seen.unread.push(String::from(
                "changes in the pools during the scan, so the sums may not match",
            ));
            return Ok(seen);
        }
        before = after;
        tries += 1;
    }
}

impl<'r> Scan<'r> {
    fn new(root: &'r Root, pools: &[Pool]) -> Scan<'r> {
        Scan {
            root,
            sizes: pools.iter().map(|pool| pool.size.get()).collect(),
            seen: Snapshot {
                pools: pools.to_vec(),
                ..Snapshot::default()
            },
            objects: BTreeMap::new(),
            private_pages: BTreeSet::new(),
            private_mappings: BTreeSet::new(),
            devices: BTreeMap::new(),
            points: BTreeSet::new(),
            namespaces: BTreeSet::new(),
        }
    }

    fn scan_all(mut self) -> Snapshot {
        self.scan_mounts();
        self.scan_processes();
        self.scan_segments();
        self.seen.objects = self.objects.into_values().collect();
        self.seen.processes.retain(|it| it.pages + it.reserved > 0);
        self.seen
    }

    /// Returns the page size if there is a pool of it.
    fn pool_size(&self, bytes: u64) -> Option<PageSize> {
        PageSize::new(bytes).filter(|_| self.sizes.contains(&bytes))
    }

    /// Returns the file with this key. Adds it if it is new.
    fn object(&mut self, key: FileKey, size: PageSize, kind: Kind, stat: Stat) -> &mut Object {
        self.objects.entry(key).or_insert_with(|| Object {
            kind,
            size,
            pages: stat.allocated / size.get(),
            length: stat.length.div_ceil(size.get()),
            users: BTreeSet::new(),
            reserved_indexes: BTreeSet::new(),
        })
    }

    fn add_unread(&mut self, why: String) {
        if !self.seen.unread.contains(&why) {
            self.seen.unread.push(why);
        }
    }
}

/// Sizes of a file in bytes.
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

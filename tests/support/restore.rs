//! Saves the pools and settings of the running machine, and restores them even if the test fails.
//! Turns off new swap and removes new mounts and files below our directories. Recreates deleted
//! records only.
#![expect(clippy::disallowed_methods, reason = "restores hugeadm's records")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hugetools_model::hugetlb::node::node_pool_path;
use hugetools_model::hugetlb::pool::{NR_HUGEPAGES, NR_OVERCOMMIT_HUGEPAGES, counter_path};
use hugetools_model::memory::{sysctl, userfault};
use hugetools_model::{KPath, Machine, Root, thp};
use nix::errno::Errno;

/// The directory of mounts and swap files.
const MOUNTS_AND_SWAP: &str = "/var/lib/hugetlbfs";

/// The directory of the rollback's record.
const RECORDS: &str = "/var/lib/hugetools";

/// The saved state of the machine.
pub(crate) struct Saved {
    pub(crate) found: Machine,
    paths: BTreeSet<PathBuf>,
    records: Vec<(PathBuf, Vec<u8>)>,
}

impl Saved {
    pub(crate) fn new(found: Machine) -> Saved {
        Saved {
            found,
            records: records(),
            paths: paths(),
        }
    }

    pub(crate) fn restore(&self, root: &Root) {
        let now = Machine::read(root).unwrap();
        for mount in now.mounts.iter().rev() {
            if mount.point.starts_with(MOUNTS_AND_SWAP) && !self.found.mounts.contains(mount) {
                log_failure(unmount(&mount.point), &mount.point);
            }
        }
        for swap in &now.swaps {
            if !self.found.swaps.iter().any(|found| found.path == swap.path) {
                let off = Command::new("swapoff").arg(&swap.path).status();
                log_failure(off.map(drop), &swap.path);
            }
        }
        // In reverse order: a directory is removed after its contents.
        let made = paths();
        for made in made
            .difference(&self.paths)
            .collect::<Vec<_>>()
            .iter()
            .rev()
        {
            log_failure(remove(made), made);
        }
        for (path, bytes) in self
            .records
            .iter()
            .filter(|record| !records().contains(record))
        {
            log_failure(fs::write(path, bytes), path);
        }
        self.restore_pools(root);
        if let Some(owner) = self.found.userfault.owner.filter(|_| now != self.found) {
            let path = Path::new(userfault::DEVICE);
            let owned = chown(path, Some(owner.uid), Some(owner.gid));
            let mode = fs::Permissions::from_mode(owner.mode);
            log_failure(owned.and_then(|()| fs::set_permissions(path, mode)), path);
        }
        for (path, value) in self.settings() {
            put(root, &path, &value);
        }
    }

    fn restore_pools(&self, root: &Root) {
        for pool in &self.found.pools {
            let minimum = pool.minimum().to_string();
            put(root, &counter_path(pool, NR_HUGEPAGES), &minimum);
            for node in &self.found.nodes {
                if let Some(share) = node.pool(pool.size) {
                    let path = node_pool_path(node.id, pool.size);
                    put(root, &path, &share.minimum().to_string());
                }
            }
            if let Some(overcommit) = pool.overcommit {
                let path = counter_path(pool, NR_OVERCOMMIT_HUGEPAGES);
                put(root, &path, &overcommit.to_string());
            }
        }
    }

    /// Returns the sysctls and THP settings that hugeadm can change, without those of pools.
    fn settings(&self) -> Vec<(KPath, String)> {
        let mut all = Vec::new();
        let mut set = |path: KPath, value: Option<String>| {
            all.extend(value.map(|value| (path, value)));
        };
        let limits = &self.found.sysctl;
        for (path, value) in [
            (sysctl::shm_group_path(), limits.hugetlb_shm_group),
            (sysctl::shmmax_path(), limits.shmmax),
            (sysctl::min_free_path(), limits.min_free_kbytes),
            (
                sysctl::optimize_vmemmap_path(),
                limits.hugetlb_optimize_vmemmap,
            ),
        ] {
            set(path, value.map(|value| value.to_string()));
        }
        for (file, value) in &self.found.thp_settings.numbers {
            set(thp::dir().join(file), Some(value.to_string()));
        }
        if let Some(words) = &self.found.thp {
            set(thp::dir().join("enabled"), words.enabled.clone());
            set(thp::dir().join("defrag"), words.defrag.clone());
            set(
                thp::dir().join("shmem_enabled"),
                words.shmem_enabled.clone(),
            );
            for size in &words.sizes {
                set(
                    thp::size_dir(size.size).join("enabled"),
                    size.enabled.clone(),
                );
            }
        }
        all
    }
}

fn put(root: &Root, path: &KPath, value: &str) {
    let result = root.write(path, value);
    log_failure(
        result.map_err(|error| io::Error::other(error.to_string())),
        Path::new(path.as_str()),
    );
}

/// Logs an error. A drop during a panic must not panic again.
pub(crate) fn log_failure(result: io::Result<()>, path: &Path) {
    if let Err(error) = result {
        let _ = writeln!(io::stderr(), "cannot restore {}: {error}", path.display());
    }
}

/// Unmounts a file system. Retries, since another test's program may be reading it.
pub(crate) fn unmount(point: &Path) -> io::Result<()> {
    for _ in 0..50 {
        match nix::mount::umount(point) {
            Err(Errno::EBUSY) => std::thread::sleep(Duration::from_millis(100)),
            result => return Ok(result?),
        }
    }
    Ok(nix::mount::umount(point)?)
}

/// Returns the files of [`RECORDS`].
fn records() -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(RECORDS).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter_map(|path| Some((path.clone(), fs::read(path).ok()?)))
        .collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match path.is_dir() {
        true => fs::remove_dir(path),
        false => fs::remove_file(path),
    }
}

/// Returns [`MOUNTS_AND_SWAP`], [`RECORDS`] and all paths below them, except those inside mounts.
fn paths() -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let mut next = vec![PathBuf::from(MOUNTS_AND_SWAP), PathBuf::from(RECORDS)];
    while let Some(path) = next.pop() {
        if path.symlink_metadata().is_err() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with("pagesize-") {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            next.extend(entries.map(|entry| entry.path()));
        }
        all.insert(path);
    }
    all
}

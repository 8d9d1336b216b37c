//! Limits of control groups, version 1 and 2: of memory (`memory.max`) and of huge pages
//! (`hugetlb.<size>.max` and related files).
//!
//! A limit holds for a group and all groups below it. `max` limits the huge pages in use, and takes
//! effect at the first touch. `rsvd.max` (since Linux 5.7) limits reservations, in `mmap(2)`.

use hugetools_kernfs::cgroup::{self as text, Group, Version, groups};

use crate::memory::vmstat;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::root::{Root, not_a_number};
use crate::units::size::{Bytes, PageSize};

/// A limit of a control group on memory, or on the huge pages of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The file that sets the limit.
    pub file: KPath,
    /// The limit.
    pub limit: Bytes,
    /// The group's usage; `None` if it cannot be read.
    pub used: Option<Bytes>,
}

impl Limit {
    /// Returns the unused part of the limit; `None` if it is unknown.
    pub fn unused(&self) -> Option<Bytes> {
        let unused = |used: Bytes| Bytes::new(self.limit.get().saturating_sub(used.get()));
        match self.limit.get() {
            // 0 even if the usage is unknown.
            0 => Some(self.limit),
            _ => self.used.map(unused),
        }
    }
}

/// The files of a limit and of the usage, without their prefix (`memory.` or `hugetlb.2MB.`).
type FileNames = (&'static str, &'static str);

const V1: [FileNames; 2] = [
    ("limit_in_bytes", "usage_in_bytes"),
    ("rsvd.limit_in_bytes", "rsvd.usage_in_bytes"),
];

const V2: [FileNames; 2] = [("max", "current"), ("rsvd.max", "rsvd.current")];

/// Returns the limit with the fewest unused bytes on huge pages of a size. Considers the visible
/// groups in `membership` (such as `/proc/self/cgroup`) and their ancestors. A limit with unknown
/// usage counts as the tightest.
pub fn tightest_hugetlb(
    root: &Root,
    membership: &KPath,
    size: PageSize,
) -> Result<Option<Limit>, FileError> {
    tightest_of(root, membership, "hugetlb", &format!("hugetlb.{size}."))
}

/// Whether the process's memory group is outside the reader's cgroup namespace, so that its limit
/// is invisible.
pub fn is_memory_hidden(root: &Root, membership: &KPath) -> Result<bool, FileError> {
    let bytes = root.read_opt(membership)?.unwrap_or_default();
    let has_v1 = groups(&bytes, "memory").any(|group| group.version == Version::One);
    let mut groups = groups(&bytes, "memory");
    Ok(groups
        .any(|group| group.is_outside_namespace() && (!has_v1 || group.version == Version::One)))
}

/// Returns the tightest limit on memory (`memory.max` or `memory.limit_in_bytes`). Usage includes
/// the page cache, which the kernel reclaims first.
pub fn tightest_memory(root: &Root, membership: &KPath) -> Result<Option<Limit>, FileError> {
    tightest_of(root, membership, "memory", "memory.")
}

/// Pool pages of one size in use by a group and all groups below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Its path in the hierarchy.
    pub group: String,
    /// The page size.
    pub size: PageSize,
    /// Bytes in use.
    pub used: Bytes,
}

/// How many levels below the root [`usage`] reads: slices and their services.
const USAGE_LEVELS: usize = 2;

/// Returns the pool pages in use by groups of the first levels; version 2 only.
pub fn usage(root: &Root, sizes: &[PageSize]) -> Result<Vec<Usage>, FileError> {
    let mut found = Vec::new();
    let Some(top) = mount_point(root, Version::Two, "hugetlb") else {
        return Ok(found);
    };
    let mut pending = vec![(top, String::new(), 0)];
    while let Some((dir, group, level)) = pending.pop() {
        for size in sizes {
            let file = dir.join(format_args!("hugetlb.{size}.current"));
            let used = root.number_opt(&file)?.filter(|bytes| *bytes > 0);
            found.extend(used.map(|used| Usage {
                group: group.clone(),
                size: *size,
                used: Bytes::new(used),
            }));
        }
        let names = if level < USAGE_LEVELS {
            root.list(&dir)?
        } else {
            Vec::new()
        };
        for name in names {
            let name = name.to_string_lossy();
            let child = dir.join(&name);
            if root.exists(&child.join("cgroup.procs")) {
                pending.push((child, format!("{group}/{name}"), level + 1));
            }
        }
    }
    found.sort_by(|one, other| (&one.group, one.size).cmp(&(&other.group, other.size)));
    Ok(found)
}

/// Returns the group's inactive page cache, which the kernel reclaims first; 0 if unknown.
pub fn inactive_cache(root: &Root, limit: &Limit) -> Bytes {
    let name = match limit.file.as_str().ends_with("limit_in_bytes") {
        true => "total_inactive_file",
        false => "inactive_file",
    };
    let text = root.read_opt(&limit.file.beside("memory.stat"));
    let counters = vmstat::parse(&text.ok().flatten().unwrap_or_default());
    Bytes::new(counters.get(name).copied().unwrap_or(0))
}

fn tightest_of(
    root: &Root,
    membership: &KPath,
    controller: &str,
    prefix: &str,
) -> Result<Option<Limit>, FileError> {
    let Some(bytes) = root.read_opt(membership)? else {
        return Ok(None);
    };
    let mut found: Option<Limit> = None;
    // We can't see the files of groups outside our cgroup namespace.
    let groups = groups(&bytes, controller).filter(|group| !group.is_outside_namespace());
    for group in groups {
        let Some(mount) = mount_point(root, group.version, controller) else {
            continue;
        };
        let files = match group.version {
            Version::One => V1,
            Version::Two => V2,
        };
        for dir in visible_dirs(root, &mount, &group) {
            for names in files {
                let limit = read_limit(root, &dir, names, prefix)?;
                let tighter =
                    |limit: &Limit| found.as_ref().is_none_or(|f| limit.unused() < f.unused());
                found = limit.filter(tighter).or(found);
            }
        }
    }
    Ok(found)
}

/// Returns the usual mount point of a hierarchy, if it exists. The libraries use the same ones.
fn mount_point(root: &Root, version: Version, controller: &str) -> Option<KPath> {
    let top = KPath::from("/sys/fs/cgroup");
    match version {
        Version::One => Some(top.join(controller)).filter(|dir| root.exists(dir)),
        Version::Two => {
            let dirs = [top.clone(), top.join("unified")];
            let is_v2 = |dir: &KPath| root.exists(&dir.join("cgroup.controllers"));
            dirs.into_iter().find(is_v2)
        }
    }
}

/// Returns the directories of the group and its ancestors, as far as they exist: a container's
/// mount may show only a part of the path.
fn visible_dirs(root: &Root, mount: &KPath, group: &Group<'_>) -> Vec<KPath> {
    let mut dirs = vec![mount.clone()];
    let mut dir = mount.clone();
    for name in group.names() {
        dir = dir.join(String::from_utf8_lossy(name));
        if !root.exists(&dir) {
            break;
        }
        dirs.push(dir.clone());
    }
    dirs
}

fn read_limit(
    root: &Root,
    dir: &KPath,
    (limit, used): FileNames,
    prefix: &str,
) -> Result<Option<Limit>, FileError> {
    let file = dir.join(format_args!("{prefix}{limit}"));
    let Some(bytes) = root.read_opt(&file)? else {
        return Ok(None);
    };
    let limit = match text::Limit::parse(&bytes) {
        Some(text::Limit::Bytes(limit)) => limit,
        Some(text::Limit::None) => return Ok(None),
        None => return Err(not_a_number(&file, &bytes)),
    };
    let used = dir.join(format_args!("{prefix}{used}"));
    Ok(Some(Limit {
        limit: Bytes::new(limit),
        used: root.number_opt(&used)?.map(Bytes::new),
        file,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    struct Tree {
        _dir: tempfile::TempDir,
        root: Root,
    }

    fn tree(files: &[(&str, &str)]) -> Tree {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let root = Root::at(dir.path()).unwrap();
        for (path, text) in files {
            let path = root.host_path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = fs::File::create(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        Tree { _dir: dir, root }
    }

    fn tightest_2mb(tree: &Tree) -> Option<(String, u64)> {
        let size = PageSize::new(2 << 20).unwrap();
        let found = tightest_hugetlb(&tree.root, &KPath::from("/proc/self/cgroup"), size).unwrap();
        found.map(|limit| (limit.file.to_string(), limit.unused().unwrap().get()))
    }

    #[test]
    fn a_limit_of_an_ancestor_applies() {
        let tree = tree(&[
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/cgroup.controllers", "hugetlb\n"),
            ("/sys/fs/cgroup/a/hugetlb.2MB.max", "41943040\n"),
            ("/sys/fs/cgroup/a/hugetlb.2MB.current", "2097152\n"),
            ("/sys/fs/cgroup/a/hugetlb.2MB.rsvd.max", "max\n"),
            ("/sys/fs/cgroup/a/b/hugetlb.2MB.max", "104857600\n"),
            ("/sys/fs/cgroup/a/b/hugetlb.2MB.current", "0\n"),
            ("/sys/fs/cgroup/a/b/hugetlb.1GB.max", "0\n"),
        ]);
        let file = "/sys/fs/cgroup/a/hugetlb.2MB.max".to_owned();
        assert_eq!(tightest_2mb(&tree), Some((file, 39_845_888)));
    }

    #[test]
    fn the_reservation_limit_may_be_the_tightest() {
        let tree = tree(&[
            ("/proc/self/cgroup", "7:memory:/x\n3:hugetlb:/a\n0::/\n"),
            (
                "/sys/fs/cgroup/hugetlb/a/hugetlb.2MB.limit_in_bytes",
                "9223372036854771712\n",
            ),
            (
                "/sys/fs/cgroup/hugetlb/a/hugetlb.2MB.rsvd.limit_in_bytes",
                "0\n",
            ),
        ]);
        let file = "/sys/fs/cgroup/hugetlb/a/hugetlb.2MB.rsvd.limit_in_bytes".to_owned();
        assert_eq!(tightest_2mb(&tree), Some((file, 0)));
    }

    #[test]
    fn memory_limits_are_inherited() {
        let tree = tree(&[
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "900\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
        ]);
        let found = tightest_memory(&tree.root, &KPath::from("/proc/self/cgroup")).unwrap();
        let found = found.map(|limit| (limit.file.to_string(), limit.unused().unwrap().get()));
        assert_eq!(found, Some(("/sys/fs/cgroup/a/memory.max".to_owned(), 100)));
    }

    #[test]
    fn unreadable_usage_is_unknown() {
        let tree = tree(&[
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "2000\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "900\n"),
        ]);
        let found = tightest_memory(&tree.root, &KPath::from("/proc/self/cgroup"));
        let found = found.unwrap().unwrap();
        assert_eq!(found.file.as_str(), "/sys/fs/cgroup/a/memory.max");
        assert_eq!((found.used, found.unused()), (None, None));
    }

    #[test]
    fn without_groups_or_controller_there_is_no_limit() {
        assert_eq!(tightest_2mb(&tree(&[])), None);
        assert_eq!(
            tightest_2mb(&tree(&[("/proc/self/cgroup", "0::/\n5:memory:/a\n")])),
            None
        );
        let outside = tree(&[
            ("/proc/self/cgroup", "0::/../../etc\n"),
            ("/sys/fs/cgroup/cgroup.controllers", ""),
            ("/sys/fs/cgroup/hugetlb.2MB.max", "0\n"),
        ]);
        assert_eq!(tightest_2mb(&outside), None);
    }
}

//! Limits of control groups, version 1 and 2: of memory (`memory.max`) and of huge pages
//! (`hugetlb.<size>.max` and related files).
//!
//! A limit holds for a group and all groups below it. A limit on used huge pages takes effect
//! at the first touch, one on reservations (`rsvd`, since Linux 5.7) in `mmap(2)`.

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
    pub fn rest(&self) -> Option<Bytes> {
        let rest = |used: Bytes| Bytes::new(self.limit.get().saturating_sub(used.get()));
        match self.limit.get() {
            // If the limit is 0, usage doesn't matter.
            0 => Some(self.limit),
            _ => self.used.map(rest),
        }
    }
}

/// The files of a limit and of the usage, without their prefix (`memory.` or `hugetlb.2MB.`).
type Names = (&'static str, &'static str);

const V1: [Names; 2] = [
    ("limit_in_bytes", "usage_in_bytes"),
    ("rsvd.limit_in_bytes", "rsvd.usage_in_bytes"),
];

const V2: [Names; 2] = [("max", "current"), ("rsvd.max", "rsvd.current")];

/// Returns the huge page limit with the fewest unused bytes. Considers all visible groups that
/// `membership` (such as `/proc/self/cgroup`) lists, and their ancestors. A limit with unknown
/// usage counts as the tightest.
pub fn tightest(
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

/// Returns the tightest memory limit: `memory.max` or `memory.limit_in_bytes`. Its usage
/// includes the page cache, which the kernel reclaims first.
pub fn tightest_memory(root: &Root, membership: &KPath) -> Result<Option<Limit>, FileError> {
    tightest_of(root, membership, "memory", "memory.")
}

/// The pages of one size that a group uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Its path in the hierarchy.
    pub group: String,
    /// The page size.
    pub size: PageSize,
    /// Used bytes.
    pub used: Bytes,
}

/// Number of levels below the root that [`usage`] reads: slices and their services.
const LEVELS: usize = 2;

/// Returns the version 2 groups that use pool pages, from the first levels of the hierarchy.
pub fn usage(root: &Root, sizes: &[PageSize]) -> Result<Vec<Usage>, FileError> {
    let mut found = Vec::new();
    let Some(top) = mount_point(root, Version::Two, "hugetlb") else {
        return Ok(found);
    };
    let mut groups = vec![(top, String::new(), 0)];
    while let Some((dir, group, level)) = groups.pop() {
        for size in sizes {
            let file = dir.join(format_args!("hugetlb.{size}.current"));
            let used = root.number_opt(&file)?.filter(|bytes| *bytes > 0);
            found.extend(used.map(|used| Usage {
                group: group.clone(),
                size: *size,
                used: Bytes::new(used),
            }));
        }
        let names = if level < LEVELS {
            root.list(&dir)?
        } else {
            Vec::new()
        };
        for name in names {
            let name = name.to_string_lossy();
            let below = dir.join(&name);
            if root.exists(&below.join("cgroup.procs")) {
                groups.push((below, format!("{group}/{name}"), level + 1));
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
    // Files of groups outside the reader's namespace are invisible.
    let groups = groups(&bytes, controller).filter(|group| !group.is_outside_namespace());
    for group in groups {
        let Some(mount) = mount_point(root, group.version, controller) else {
            continue;
        };
        let names = match group.version {
            Version::One => V1,
            Version::Two => V2,
        };
        for dir in dirs(root, &mount, &group) {
            for names in names {
                let limit = read_limit(root, &dir, names, prefix)?;
                let tighter =
                    |limit: &Limit| found.as_ref().is_none_or(|f| limit.rest() < f.rest());
                found = limit.filter(tighter).or(found);
            }
        }
    }
    Ok(found)
}

/// Returns the mount point of a hierarchy, if it exists; the libraries know the same ones.
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

/// Returns the visible directories of the group and its ancestors. A container's mount may
/// lack a part of the path.
fn dirs(root: &Root, mount: &KPath, group: &Group<'_>) -> Vec<KPath> {
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
    (limit, used): Names,
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

    fn find(tree: &Tree) -> Option<(String, u64)> {
        let size = PageSize::new(2 << 20).unwrap();
        let found = tightest(&tree.root, &KPath::from("/proc/self/cgroup"), size).unwrap();
        found.map(|limit| (limit.file.to_string(), limit.rest().unwrap().get()))
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
        assert_eq!(find(&tree), Some((file, 39_845_888)));
    }

    #[test]
    fn reservations_have_their_own_limit() {
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
        assert_eq!(find(&tree), Some((file, 0)));
    }

    #[test]
    fn memory_has_limits_too() {
        let tree = tree(&[
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "900\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
        ]);
        let found = tightest_memory(&tree.root, &KPath::from("/proc/self/cgroup")).unwrap();
        let found = found.map(|limit| (limit.file.to_string(), limit.rest().unwrap().get()));
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
        assert_eq!((found.used, found.rest()), (None, None));
    }

    #[test]
    fn without_groups_or_controller_there_is_no_limit() {
        assert_eq!(find(&tree(&[])), None);
        assert_eq!(
            find(&tree(&[("/proc/self/cgroup", "0::/\n5:memory:/a\n")])),
            None
        );
        let outside = tree(&[
            ("/proc/self/cgroup", "0::/../../etc\n"),
            ("/sys/fs/cgroup/cgroup.controllers", ""),
            ("/sys/fs/cgroup/hugetlb.2MB.max", "0\n"),
        ]);
        assert_eq!(find(&outside), None);
    }
}

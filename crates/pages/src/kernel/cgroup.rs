//! Memory and hugetlb limits of the process's control groups. Reads versions 1 and 2 at the mount
//! points that every distribution uses.

use core::ffi::CStr;

use hugetools_kernfs::cgroup::{Limit, Version, groups};

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys;
use hugetools_kernfs::size_name::SizeName;

/// Mount points of version 2, alone or beside version 1.
const V2_ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// Files with the limit and the usage of memory in version 1.
const MEMORY_V1: [&str; 2] = ["memory.limit_in_bytes", "memory.usage_in_bytes"];

/// Memory that the control groups leave this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headroom {
    /// No limit.
    NoLimit,
    /// Bytes.
    Bytes(usize),
    /// The groups aren't visible: not mounted, or no `/proc`, as in a chroot.
    Hidden,
    /// Reading failed.
    Unknown,
}

impl Headroom {
    /// Returns the smaller headroom. Unknown is the smallest, then hidden, bytes, and no limit.
    fn min(self, other: Headroom) -> Headroom {
        match (self, other) {
            (Headroom::Unknown, _) | (_, Headroom::Unknown) => Headroom::Unknown,
            (Headroom::Hidden, _) | (_, Headroom::Hidden) => Headroom::Hidden,
            (Headroom::NoLimit, left) | (left, Headroom::NoLimit) => left,
            (Headroom::Bytes(a), Headroom::Bytes(b)) => Headroom::Bytes(a.min(b)),
        }
    }
}

/// Ordinary memory that the control groups leave this process.
pub fn memory_left() -> Headroom {
    procfile::if_allowed(|| Some(find_memory())).unwrap_or(Headroom::Unknown)
}

/// Reads `/proc/self/cgroup`.
///
/// # Errors
/// The headroom to assume if the file is missing, unreadable or empty.
fn own_groups(buffer: &mut [u8]) -> Result<&[u8], Headroom> {
    match procfile::known_head(c"/proc/self/cgroup", buffer) {
        // For example, no descriptor is left.
        None => Err(Headroom::Unknown),
        Some([]) => Err(match sys::link_count(c"/proc/self") {
            // The kernel has no control groups.
            Some(_) => Headroom::NoLimit,
            None => Headroom::Hidden,
        }),
        Some(text) => Ok(text),
    }
}

fn find_memory() -> Headroom {
    let mut buffer = [0; 4096];
    let text = match own_groups(&mut buffer) {
        Ok(text) => text,
        Err(assumed) => return assumed,
    };
    // A controller belongs to one hierarchy at a time.
    let (roots, path, files): (&[&str], _, _) =
        if let Some(path) = path_of(text, "memory", Version::One) {
            let files = MEMORY_V1;
            (&["/sys/fs/cgroup/memory"], path, files)
        } else if let Some(path) = path_of(text, "memory", Version::Two) {
            (&V2_ROOTS, path, ["memory.max", "memory.current"])
        } else {
            return Headroom::NoLimit;
        };
    match least_headroom(roots, path, files) {
        // The root group has no limit.
        Headroom::Hidden if path == b"/" && in_initial_namespace() => Headroom::NoLimit,
        left => left,
    }
}

/// Whether a control group may refuse hugetlb pages of this size at a page fault; `true` if
/// unknown, as in a cgroup namespace, which hides outer groups. A limit of reservations (`rsvd`)
/// acts earlier: it makes `mmap` or `shmget` fail.
pub fn may_limit_hugetlb(size: usize) -> bool {
    let is_unlimited = procfile::if_allowed(|| Some(is_hugetlb_unlimited(size)));
    is_unlimited != Some(true) || !in_initial_namespace()
}

/// Whether no group has a limit of huge pages of this size; `false` if unknown.
fn is_hugetlb_unlimited(size: usize) -> bool {
    let mut buffer = [0; 4096];
    let text = match own_groups(&mut buffer) {
        Ok(text) => text,
        Err(assumed) => return assumed == Headroom::NoLimit,
    };
    let size = SizeName(size);
    groups(text, "hugetlb").all(|group| {
        let (roots, file): (&[&str], _) = match group.version {
            Version::One => (&["/sys/fs/cgroup/hugetlb"], "limit_in_bytes"),
            Version::Two => (&V2_ROOTS, "max"),
        };
        let Ok(path) = core::str::from_utf8(group.path) else {
            return false;
        };
        let path = path.trim_end_matches('/');
        root_of(roots, path).is_some_and(|root| {
            with_ancestors(path).all(|path| {
                let file = Path::of(format_args!("{root}{path}/hugetlb.{size}.{file}"));
                file.and_then(|file| limit(file.c_str())) == Some(Limit::None)
            })
        })
    })
}

/// Whether the process is in the initial cgroup namespace and thus sees all groups up to the root.
/// Also `true` on kernels without cgroup namespaces.
fn in_initial_namespace() -> bool {
    /// The kernel's `PROC_CGROUP_INIT_INO`.
    const INITIAL: u64 = 0xeffffffb;
    sys::inode(c"/proc/self/ns/cgroup").is_none_or(|inode| inode == INITIAL)
}

/// Yields the paths of a group and its ancestors. The root's path, the last one, is empty.
fn with_ancestors(path: &str) -> impl Iterator<Item = &str> {
    core::iter::successors(Some(path), |path| {
        let slash = path.rfind('/')?;
        Some(&path[..slash])
    })
}

/// Returns the mount point that shows this group.
fn root_of<'a>(roots: &[&'a str], path: &str) -> Option<&'a str> {
    let shows = |root: &&&str| {
        let path = Path::of(format_args!("{root}{path}/cgroup.procs"));
        path.is_some_and(|path| sys::inode(path.c_str()).is_some())
    };
    roots.iter().find(shows).copied()
}

fn path_of<'a>(text: &'a [u8], controller: &str, version: Version) -> Option<&'a [u8]> {
    let mut groups = groups(text, controller);
    let group = groups.find(|group| group.version == version)?;
    Some(group.path)
}

/// Reads a limit; `None` if it is unreadable. A missing file, as in the root group, means no limit.
fn limit(path: &CStr) -> Option<Limit> {
    let mut buffer = [0; 32];
    match procfile::head(path, &mut buffer) {
        [] if sys::inode(path).is_none() => Some(Limit::None),
        text => Limit::parse(text),
    }
}

/// Returns the least headroom of a group and its ancestors. If the mount has no such path, as in a
/// container, reads the mount's root, which may be the group itself.
fn least_headroom(roots: &[&str], path: &[u8], files: [&str; 2]) -> Headroom {
    let Ok(path) = core::str::from_utf8(path) else {
        return Headroom::Unknown;
    };
    let path = path.trim_end_matches('/');
    let found = |path| root_of(roots, path).map(|root| (root, path));
    let Some((root, path)) = found(path).or_else(|| found("")) else {
        return Headroom::Hidden;
    };
    let all = with_ancestors(path).map(|path| group_headroom(root, path, files));
    all.fold(Headroom::NoLimit, Headroom::min)
}

/// Returns one group's limit minus its usage, where inactive page cache doesn't count: the kernel
/// reclaims it first.
fn group_headroom(root: &str, path: &str, [limit_file, usage_file]: [&str; 2]) -> Headroom {
    let file = |name: &str| Path::of(format_args!("{root}{path}/{name}"));
    let cache_tag: &[u8] = match limit_file == MEMORY_V1[0] {
        true => b"total_inactive_file ",
        false => b"inactive_file ",
    };
    let limit = match file(limit_file).and_then(|path| limit(path.c_str())) {
        Some(Limit::Bytes(limit)) => limit,
        Some(Limit::None) => return Headroom::NoLimit,
        None => return Headroom::Unknown,
    };
    let usage = file(usage_file).and_then(|path| procfile::number(path.c_str()));
    let cache = file("memory.stat").and_then(|path| procfile::tagged_in(path.c_str(), cache_tag));
    let usage = usage.map(|usage| usage.saturating_sub(cache.unwrap_or(0)));
    let left = usage.and_then(|usage| usize::try_from(limit.saturating_sub(usage)).ok());
    left.map_or(Headroom::Unknown, Headroom::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_no_limit() {
        assert_eq!(limit(c"/no/such/file"), Some(Limit::None));
        // A readable file that holds no limit.
        assert_eq!(limit(c"/proc/self/stat"), None);
    }

    #[test]
    fn the_smaller_headroom_counts() {
        let (some, more) = (Headroom::Bytes(5), Headroom::Bytes(6));
        assert_eq!(more.min(some), some);
        assert_eq!(Headroom::NoLimit.min(more), more);
        assert_eq!(Headroom::Unknown.min(some), Headroom::Unknown);
        assert_eq!(Headroom::NoLimit.min(Headroom::Unknown), Headroom::Unknown);
        assert_eq!(some.min(Headroom::Hidden), Headroom::Hidden);
        assert_eq!(Headroom::Hidden.min(Headroom::Unknown), Headroom::Unknown);
    }
}

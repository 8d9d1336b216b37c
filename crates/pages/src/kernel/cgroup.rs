//! What the process's control groups allow: memory that is left, and whether
//! hugetlb pages are limited. Both versions of control groups, at the places
//! where every distribution mounts them; memory wherever they are mounted.

use crate::kernel::procfile;
use crate::rt::message::SizeName;
use crate::rt::path::Path;
use crate::sys;

/// Where version 2 is mounted, alone or beside version 1.
const V2_ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The memory that the control groups leave this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing limits it.
    NoLimit,
    /// So many bytes.
    Bytes(usize),
    /// It cannot be told.
    Unknown,
}

impl Left {
    /// The less of two; what cannot be told is the least.
    fn min(self, other: Left) -> Left {
        match (self, other) {
            (Left::Unknown, _) | (_, Left::Unknown) => Left::Unknown,
            (Left::NoLimit, left) | (left, Left::NoLimit) => left,
            (Left::Bytes(a), Left::Bytes(b)) => Left::Bytes(a.min(b)),
        }
    }
}

/// The memory that the control groups leave this process.
pub fn memory_left() -> Left {
    procfile::look(|| Some(find_memory_left())).unwrap_or(Left::Unknown)
}

fn find_memory_left() -> Left {
    let mut buffer = [0; 4096];
    let text = procfile::head(c"/proc/self/cgroup", &mut buffer);
    if text.is_empty() {
        return match sys::links(c"/proc/self") {
            // The kernel has no control groups.
            Some(_) => Left::NoLimit,
            None => Left::Unknown,
        };
    }
    // A controller is part of one hierarchy at a time.
    if let Some(path) = path_of(text, b"memory") {
        let files = ("memory.limit_in_bytes", "memory.usage_in_bytes");
        return left_wherever(&["/sys/fs/cgroup/memory"], path, files, Version::One);
    }
    match path_of(text, b"") {
        Some(path) => {
            let files = ("memory.max", "memory.current");
            left_wherever(&V2_ROOTS, path, files, Version::Two)
        }
        None => Left::NoLimit,
    }
}

/// The least that is left, at the usual places or wherever else the groups are
/// mounted.
fn left_wherever(roots: &[&str], path: &[u8], files: (&str, &str), version: Version) -> Left {
    match left(roots, path, files) {
        Left::Unknown => match mounted(version) {
            Some(root) => match root.c_str().to_str() {
                Ok(root) => left(&[root], path, files),
                Err(_) => Left::Unknown,
            },
            // Nothing limits the root of all groups.
            None if path == b"/" && in_initial_namespace() => Left::NoLimit,
            None => Left::Unknown,
        },
        told => told,
    }
}

/// Where groups with memory in them are mounted.
fn mounted(version: Version) -> Option<Path> {
    procfile::each_line(c"/proc/self/mountinfo", |line| mount_point(line, version))
}

/// The mount point in a line of `mountinfo`, if it is one of those groups.
fn mount_point(line: &[u8], version: Version) -> Option<Path> {
    let line = core::str::from_utf8(line).ok()?;
    let (mount, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let is_it = match (version, kind.next()?) {
        (Version::Two, "cgroup2") => true,
        (Version::One, "cgroup") => kind.nth(1)?.split(',').any(|word| word == "memory"),
        _ => false,
    };
    let point = mount.split(' ').nth(4).filter(|_| is_it)?;
    Path::of(format_args!("{point}"))
}

/// Whether a control group may limit hugetlb pages of this size. Only where
/// all groups up to the root of the hierarchy can be seen and none of them has
/// a limit, none does.
pub fn may_limit_hugetlb(size: usize) -> bool {
    procfile::look(|| Some(find_hugetlb_limit(size))).unwrap_or(true)
}

fn find_hugetlb_limit(size: usize) -> bool {
    let mut buffer = [0; 4096];
    let text = procfile::head(c"/proc/self/cgroup", &mut buffer);
    if text.is_empty() {
        // No control groups at all, or no /proc to tell.
        return sys::links(c"/proc/self").is_none();
    }
    if !in_initial_namespace() {
        return true;
    }
    let v1 = path_of(text, b"hugetlb").is_some_and(|path| {
        let root = "/sys/fs/cgroup/hugetlb";
        has_limit(&[root], path, size, Version::One)
    });
    let v2 = path_of(text, b"").is_some_and(|path| has_limit(&V2_ROOTS, path, size, Version::Two));
    v1 || v2
}

/// A process in a namespace of control groups sees its own part of the
/// hierarchy only.
fn in_initial_namespace() -> bool {
    const INITIAL: u64 = 0xeffffffb;
    sys::inode(c"/proc/self/ns/cgroup").is_none_or(|inode| inode == INITIAL)
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

/// Whether a group on the way to the root has a limit, or the way cannot be
/// followed.
fn has_limit(roots: &[&str], path: &[u8], size: usize, version: Version) -> bool {
    let Ok(path) = core::str::from_utf8(path) else {
        return true;
    };
    let path = path.trim_end_matches('/');
    let Some(root) = roots.iter().find(|root| exists(root, path, "cgroup.procs")) else {
        return true;
    };
    let files: [&str; 2] = match version {
        Version::One => ["limit_in_bytes", "rsvd.limit_in_bytes"],
        Version::Two => ["max", "rsvd.max"],
    };
    let mut path = path;
    loop {
        if files.iter().any(|file| limits(root, path, size, file)) {
            return true;
        }
        match path.rfind('/') {
            Some(slash) => path = &path[..slash],
            None => return false,
        }
    }
}

/// Whether a file such as `hugetlb.2MB.max` holds a limit. Version 1 writes
/// the largest number that fits instead of `max`.
fn limits(root: &str, path: &str, size: usize, file: &str) -> bool {
    let name = SizeName(size);
    match Path::of(format_args!("{root}{path}/hugetlb.{name}.{file}")) {
        Some(path) => procfile::number(path.c_str()).is_some_and(|limit| limit < UNLIMITED),
        None => true,
    }
}

fn exists(root: &str, path: &str, file: &str) -> bool {
    let path = Path::of(format_args!("{root}{path}/{file}"));
    path.is_some_and(|path| sys::inode(path.c_str()).is_some())
}

/// The path in a line such as `4:memory:/a/b` or `0::/a/b`.
fn path_of<'a>(text: &'a [u8], controller: &[u8]) -> Option<&'a [u8]> {
    text.split(|b| *b == b'\n').find_map(|line| {
        let mut words = line.splitn(3, |b| *b == b':').skip(1);
        let (controllers, path) = (words.next()?, words.next()?);
        let found = controllers
            .split(|b| *b == b',')
            .any(|name| name == controller);
        found.then_some(path)
    })
}

/// The least that is left in the group and all groups above it. Where what is
/// mounted begins with the group itself, as in a container, that is the way.
fn left(roots: &[&str], path: &[u8], files: (&str, &str)) -> Left {
    let Ok(path) = core::str::from_utf8(path) else {
        return Left::Unknown;
    };
    let mut path = path.trim_end_matches('/');
    let has = |path: &str| roots.iter().find(|root| exists(root, path, "cgroup.procs"));
    let root = match has(path) {
        None => {
            path = "";
            has(path)
        }
        found => found,
    };
    let Some(root) = root else {
        return Left::Unknown;
    };
    let mut least = Left::NoLimit;
    loop {
        least = least.min(left_in(root, path, files));
        match path.rfind('/') {
            Some(slash) => path = &path[..slash],
            None => return least,
        }
    }
}

/// What is left in one group.
fn left_in(root: &str, path: &str, (limit, usage): (&str, &str)) -> Left {
    let Some(limit) = read_number(root, path, limit) else {
        // `max`, or the root of all groups, which has none.
        return Left::NoLimit;
    };
    if limit >= UNLIMITED {
        return Left::NoLimit;
    }
    let left = read_number(root, path, usage).map(|usage| limit.saturating_sub(usage));
    let left = left.and_then(|left| usize::try_from(left).ok());
    left.map_or(Left::Unknown, Left::Bytes)
}

/// Version 1 writes the largest number that fits where nothing is limited.
const UNLIMITED: u64 = 1 << 62;

fn read_number(root: &str, path: &str, name: &str) -> Option<u64> {
    let path = Path::of(format_args!("{root}{path}/{name}"))?;
    procfile::number(path.c_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_versions() {
        let text = b"5:cpu,memory:/a/b\n0::/c\n";
        assert_eq!(path_of(text, b"memory"), Some(&b"/a/b"[..]));
        assert_eq!(path_of(text, b""), Some(&b"/c"[..]));
        assert_eq!(path_of(text, b"hugetlb"), None);
    }

    #[test]
    fn mount_points_of_both_versions() {
        let point = |line: &[u8], version| mount_point(line, version).is_some();
        let two = b"30 1 0:26 / /cgroup rw,relatime shared:9 - cgroup2 none rw";
        let one = b"31 1 0:27 / /groups rw - cgroup cgroup rw,cpu,memory";
        let other = b"32 1 0:28 / /cpu rw - cgroup cgroup rw,cpu";
        let found = mount_point(two, Version::Two).unwrap();
        assert_eq!(found.c_str(), c"/cgroup");
        assert!(point(one, Version::One) && !point(one, Version::Two));
        assert!(!point(other, Version::One) && !point(two, Version::One));
    }

    #[test]
    fn what_cannot_be_told_is_neither_no_limit_nor_nothing() {
        let files = ("memory.max", "memory.current");
        assert_eq!(left(&["/no/such/root"], b"/a/b", files), Left::Unknown);
        assert_ne!(memory_left(), Left::Bytes(0));
    }

    #[test]
    fn the_least_counts() {
        let (some, more) = (Left::Bytes(5), Left::Bytes(6));
        assert_eq!(more.min(some), some);
        assert_eq!(Left::NoLimit.min(more), more);
        assert_eq!(Left::Unknown.min(some), Left::Unknown);
        assert_eq!(Left::NoLimit.min(Left::Unknown), Left::Unknown);
    }
}

//! What the process's control groups allow: memory that is left, and whether
//! hugetlb pages are limited. Both versions of control groups, at the places
//! where every distribution mounts them.

use crate::file::Path;
use crate::say::SizeName;
use crate::{file, sys};

/// Where version 2 is mounted, alone or beside version 1.
const V2_ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The memory that the control groups leave this process, in bytes;
/// `usize::MAX` where nothing limits it.
pub fn memory_left() -> usize {
    let mut buffer = [0; 4096];
    let text = file::head(c"/proc/self/cgroup", &mut buffer);
    let v2 = path_of(text, b"").map_or(usize::MAX, |path| {
        let left = V2_ROOTS.map(|root| left(root, path, "memory.max", "memory.current"));
        left.into_iter().min().unwrap_or(usize::MAX)
    });
    let v1 = path_of(text, b"memory").map_or(usize::MAX, |path| {
        let (limit, usage) = ("memory.limit_in_bytes", "memory.usage_in_bytes");
        left("/sys/fs/cgroup/memory", path, limit, usage)
    });
    v1.min(v2)
}

/// Whether a control group may limit hugetlb pages of this size. Only where
/// all groups up to the root of the hierarchy can be seen and none of them has
/// a limit, none does.
pub fn may_limit_hugetlb(size: usize) -> bool {
    let mut buffer = [0; 4096];
    let text = file::head(c"/proc/self/cgroup", &mut buffer);
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
        Some(path) => file::number(path.c_str()).is_some_and(|limit| limit < 1 << 62),
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

/// The least that is left in the group and all groups above it.
fn left(root: &str, path: &[u8], limit: &str, usage: &str) -> usize {
    let mut least = usize::MAX;
    let mut path = core::str::from_utf8(path)
        .unwrap_or("/")
        .trim_end_matches('/');
    loop {
        let read = |name| read_number(root, path, name);
        if let (Some(limit), Some(usage)) = (read(limit), read(usage)) {
            let left = limit.saturating_sub(usage);
            least = least.min(usize::try_from(left).unwrap_or(usize::MAX));
        }
        match path.rfind('/') {
            Some(slash) => path = &path[..slash],
            None => return least,
        }
    }
}

fn read_number(root: &str, path: &str, name: &str) -> Option<u64> {
    let path = Path::of(format_args!("{root}{path}/{name}"))?;
    file::number(path.c_str())
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
    fn no_limit_is_the_largest_number() {
        assert_eq!(
            left("/no/such/root", b"/a/b", "memory.max", "memory.current"),
            usize::MAX
        );
        assert!(memory_left() > 0);
    }
}

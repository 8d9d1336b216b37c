//! What the process's control groups allow: memory that is left, and whether
//! hugetlb pages are limited. Both versions of control groups, at the places
//! where every distribution mounts them.

use core::ffi::CStr;

use hugetools_kernfs::cgroup::{Limit, Version, groups};
use hugetools_kernfs::keyed;

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys::{self, Errno};
use hugetools_kernfs::size_name::SizeName;

/// Where version 2 is mounted, alone or beside version 1.
const V2_ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// Where the hugetlb controller of version 1 is mounted.
const HUGETLB_V1_ROOTS: [&str; 1] = ["/sys/fs/cgroup/hugetlb"];

/// The memory that the control groups leave this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing limits it.
    NoLimit,
    /// So many bytes.
    Bytes(usize),
    /// It cannot be seen: the groups are mounted nowhere, or there is no `/proc`, as in a
    /// chroot. Then no other question tells, and a group may be none or the tightest.
    Hidden,
    /// It cannot be told.
    Unknown,
}

impl Left {
    /// The less of two; what cannot be told is the least.
    fn min(self, other: Left) -> Left {
        match (self, other) {
            (Left::Unknown, _) | (_, Left::Unknown) => Left::Unknown,
            (Left::Hidden, _) | (_, Left::Hidden) => Left::Hidden,
            (Left::NoLimit, left) | (left, Left::NoLimit) => left,
            (Left::Bytes(a), Left::Bytes(b)) => Left::Bytes(a.min(b)),
        }
    }
}

/// The memory that the control groups leave this process.
pub fn memory_left() -> Left {
    memory(|memory| memory.limit.saturating_sub(memory.usage))
}

/// The same beside what is spared of each limit. What is used counts there without the pages
/// of files that nobody has used of late: the kernel drops them before it kills anybody.
pub fn memory_beside(spared: impl Fn(u64) -> u64) -> Left {
    memory(|memory| {
        let used = memory.usage.saturating_sub(memory.idle_files());
        let left = memory.limit.saturating_sub(used);
        left.saturating_sub(spared(memory.limit))
    })
}

/// What a group says of its memory, in bytes.
struct Memory<'a> {
    limit: u64,
    usage: u64,
    file: &'a dyn Fn(&str) -> Option<Path>,
    idle_files: &'a str,
}

impl Memory<'_> {
    fn idle_files(&self) -> u64 {
        let mut buffer = [0; 4096];
        let text = (self.file)("memory.stat").map(|path| procfile::head(path.c_str(), &mut buffer));
        let number = text.and_then(|text| keyed::number(text, self.idle_files.as_bytes()));
        number.unwrap_or(0)
    }
}

/// What is taken from a group's memory.
type Measure<'a> = &'a dyn Fn(&Memory<'_>) -> u64;

/// The files of a group, by version.
struct Files {
    /// The size of the huge pages that they limit; `None` of memory.
    pages: Option<SizeName<usize>>,
    limit: &'static str,
    usage: &'static str,
    /// What a line of `memory.stat` begins with.
    idle_files: &'static str,
}

const ONE: Files = Files {
    pages: None,
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    idle_files: "total_inactive_file ",
};

const TWO: Files = Files {
    pages: None,
    limit: "memory.max",
    usage: "memory.current",
    idle_files: "inactive_file ",
};

/// The least by a measure, of the group and all groups above it.
fn memory(measure: impl Fn(&Memory<'_>) -> u64) -> Left {
    procfile::look(|| Some(find_memory(&measure))).unwrap_or(Left::Unknown)
}

fn find_memory(measure: Measure<'_>) -> Left {
    let mut buffer = [0; 4096];
    let text = match sys::File::open(c"/proc/self/cgroup", libc::O_RDONLY) {
        Ok(file) => procfile::fill(&file, &mut buffer),
        Err(Errno(libc::ENOENT)) => {
            return match sys::links(c"/proc/self") {
                // The kernel has no control groups.
                Some(_) => Left::NoLimit,
                None => Left::Hidden,
            };
        }
        // Without a descriptor, say.
        Err(_) => return Left::Unknown,
    };
    // A controller is part of one hierarchy at a time.
    if let Some(path) = path_of(text, "memory", Version::One) {
        return left_at(&["/sys/fs/cgroup/memory"], path, Version::One, measure);
    }
    match path_of(text, "memory", Version::Two) {
        Some(path) => left_at(&V2_ROOTS, path, Version::Two, measure),
        None => Left::NoLimit,
    }
}

/// The least that is left, where the groups are mounted at the usual places.
fn left_at(roots: &[&str], path: &[u8], version: Version, measure: Measure<'_>) -> Left {
    let files = match version {
        Version::One => &ONE,
        Version::Two => &TWO,
    };
    match left(roots, path, files, measure) {
        // Nothing limits the root of all groups.
        Left::Hidden if path == b"/" && in_initial_namespace() => Left::NoLimit,
        left => left,
    }
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
    groups(text, "hugetlb").any(|group| {
        let roots: &[&str] = match group.version {
            Version::One => &HUGETLB_V1_ROOTS,
            Version::Two => &V2_ROOTS,
        };
        has_limit(roots, group.path, size, group.version)
    })
}

/// How many bytes of huge pages of this size the control groups leave this process.
pub fn hugetlb_left(size: usize) -> Left {
    procfile::look(|| Some(find_hugetlb_left(size))).unwrap_or(Left::Unknown)
}

fn find_hugetlb_left(size: usize) -> Left {
    let mut buffer = [0; 4096];
    let text = procfile::head(c"/proc/self/cgroup", &mut buffer);
    let all = groups(text, "hugetlb").map(|group| {
        let (roots, limit, usage): (&[&str], _, _) = match group.version {
            Version::One => (&HUGETLB_V1_ROOTS, "limit_in_bytes", "usage_in_bytes"),
            Version::Two => (&V2_ROOTS, "max", "current"),
        };
        let files = Files {
            pages: Some(SizeName(size)),
            limit,
            usage,
            idle_files: "",
        };
        let rest = |memory: &Memory<'_>| memory.limit.saturating_sub(memory.usage);
        left(roots, group.path, &files, &rest)
    });
    all.fold(Left::NoLimit, Left::min)
}

/// A process in a namespace of control groups sees its own part of the
/// hierarchy only.
fn in_initial_namespace() -> bool {
    const INITIAL: u64 = 0xeffffffb;
    sys::inode(c"/proc/self/ns/cgroup").is_none_or(|inode| inode == INITIAL)
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

/// Whether a file such as `hugetlb.2MB.max` holds a limit; yes where it cannot be told.
fn limits(root: &str, path: &str, size: usize, file: &str) -> bool {
    let name = SizeName(size);
    let path = Path::of(format_args!("{root}{path}/hugetlb.{name}.{file}"));
    path.and_then(|path| limit(path.c_str())) != Some(Limit::None)
}

fn exists(root: &str, path: &str, file: &str) -> bool {
    let path = Path::of(format_args!("{root}{path}/{file}"));
    path.is_some_and(|path| sys::inode(path.c_str()).is_some())
}

/// The path of the group in a hierarchy that can have the controller.
fn path_of<'a>(text: &'a [u8], controller: &str, version: Version) -> Option<&'a [u8]> {
    let mut groups = groups(text, controller);
    let group = groups.find(|group| group.version == version)?;
    Some(group.path)
}

/// What a file says of a limit; none where there is no such file, as in the root of all
/// groups. `None` where it cannot be told.
fn limit(path: &CStr) -> Option<Limit> {
    let mut buffer = [0; 32];
    match procfile::head(path, &mut buffer) {
        [] if sys::inode(path).is_none() => Some(Limit::None),
        text => Limit::parse(text),
    }
}

/// The least that is left in the group and all groups above it. Where what is
/// mounted begins with the group itself, as in a container, that is the way.
fn left(roots: &[&str], path: &[u8], files: &Files, measure: Measure<'_>) -> Left {
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
        return Left::Hidden;
    };
    let mut least = Left::NoLimit;
    loop {
        least = least.min(left_in(root, path, files, measure));
        match path.rfind('/') {
            Some(slash) => path = &path[..slash],
            None => return least,
        }
    }
}

/// What is left in one group.
fn left_in(root: &str, path: &str, files: &Files, measure: Measure<'_>) -> Left {
    let file = |name: &str| match files.pages {
        None => Path::of(format_args!("{root}{path}/{name}")),
        Some(pages) => Path::of(format_args!("{root}{path}/hugetlb.{pages}.{name}")),
    };
    let limit = match file(files.limit).and_then(|path| limit(path.c_str())) {
        Some(Limit::Bytes(limit)) => limit,
        Some(Limit::None) => return Left::NoLimit,
        None => return Left::Unknown,
    };
    let usage = file(files.usage).and_then(|path| procfile::number(path.c_str()));
    let memory = usage.map(|usage| Memory {
        limit,
        usage,
        file: &file,
        idle_files: files.idle_files,
    });
    let left = memory.and_then(|memory| usize::try_from(measure(&memory)).ok());
    left.map_or(Left::Unknown, Left::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_versions() {
        let text = b"5:cpu,memory:/a/b\n0::/c\n";
        let path = |controller, version| path_of(text, controller, version);
        assert_eq!(path("memory", Version::One), Some(&b"/a/b"[..]));
        assert_eq!(path("memory", Version::Two), Some(&b"/c"[..]));
        assert_eq!(path("hugetlb", Version::One), None);
    }

    #[test]
    fn a_limit_that_is_not_there_is_none() {
        assert_eq!(limit(c"/no/such/file"), Some(Limit::None));
        // Which is there, and no limit.
        assert_eq!(limit(c"/proc/self/stat"), None);
    }

    #[test]
    fn what_cannot_be_told_is_neither_no_limit_nor_nothing() {
        let none = left(&["/no/such/root"], b"/a/b", &TWO, &|memory| memory.usage);
        assert_eq!(none, Left::Hidden);
        assert_ne!(memory_left(), Left::Bytes(0));
    }

    #[test]
    fn the_least_counts() {
        let (some, more) = (Left::Bytes(5), Left::Bytes(6));
        assert_eq!(more.min(some), some);
        assert_eq!(Left::NoLimit.min(more), more);
        assert_eq!(Left::Unknown.min(some), Left::Unknown);
        assert_eq!(Left::NoLimit.min(Left::Unknown), Left::Unknown);
        assert_eq!(some.min(Left::Hidden), Left::Hidden);
        assert_eq!(Left::Hidden.min(Left::Unknown), Left::Unknown);
    }
}

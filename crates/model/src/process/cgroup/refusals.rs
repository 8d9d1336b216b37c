//! Huge page requests that control groups have refused: `max` of `hugetlb.<size>.events`
//! in version 2, `failcnt` in version 1.

use crate::mount::{self, Mount};
use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::size::PageSize;

/// The requests for huge pages of one size that a group's own limit has refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// The file with the count.
    pub file: KPath,
    /// The page size.
    pub size: PageSize,
    /// The number of refusals since the group was created.
    pub count: u64,
}

/// All groups with refusals, and the files that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Whether any hierarchy has the hugetlb controller.
    pub controller: bool,
    /// The groups.
    pub refusals: Vec<Refusals>,
    /// The files that could not be read.
    pub unread: Vec<FileError>,
}

/// Files of version 2: a group's own count, otherwise the count that includes its
/// descendants.
const V2: [&[&str]; 1] = [&["events.local", "events"]];
/// Files of version 1: it counts reservations separately, and each group by itself.
const V1: [&[&str]; 2] = [&["failcnt"], &["rsvd.failcnt"]];

/// Reads all visible groups.
///
/// # Errors
/// The mount table cannot be read.
pub fn read(root: &Root, sizes: &[PageSize]) -> Result<Found, FileError> {
    let mut found = Found::default();
    let mut seen: Vec<KPath> = Vec::new();
    for mount in mount::read(root)? {
        let Some(top) = mount.point.to_str().map(path) else {
            continue;
        };
        if seen.contains(&top) {
            continue;
        }
        let files: &[&[&str]] = match has_controller(root, &mount, &top) {
            Some(files) => files,
            None => continue,
        };
        found.controller = true;
        below(root, &top, sizes, files, &mut found);
        seen.push(top);
    }
    Ok(found)
}

fn path(point: &str) -> KPath {
    KPath::from("/").join(point.trim_matches('/'))
}

/// Whether a hierarchy has the controller; finds the names of its files.
fn has_controller(
    root: &Root,
    mount: &Mount,
    top: &KPath,
) -> Option<&'static [&'static [&'static str]]> {
    match mount.fs_type.as_str() {
        "cgroup" => {
            let mut options = mount.options.split(',');
            options.any(|option| option == "hugetlb").then_some(&V1)
        }
        "cgroup2" => {
            let listed = root.read_opt(&top.join("cgroup.controllers")).ok()??;
            let mut words = listed.split(u8::is_ascii_whitespace);
            words.any(|word| word == b"hugetlb").then_some(&V2)
        }
        _ => None,
    }
}

fn below(root: &Root, dir: &KPath, sizes: &[PageSize], files: &[&[&str]], found: &mut Found) {
    for size in sizes {
        for names in files {
            match refusals(root, dir, *size, names) {
                Ok(refused) => found.refusals.extend(refused),
                Err(why) => found.unread.push(why),
            }
        }
    }
    let names = root.list(dir).unwrap_or_else(|why| {
        found.unread.push(why);
        Vec::new()
    });
    for name in names {
        let group = dir.join(name.to_string_lossy());
        if root.host_path(group.as_str()).is_dir() {
            below(root, &group, sizes, files, found);
        }
    }
}

/// Returns the count from the first of these files that exists; `None` if it is 0.
fn refusals(
    root: &Root,
    dir: &KPath,
    size: PageSize,
    names: &[&str],
) -> Result<Option<Refusals>, FileError> {
    for name in names {
        let file = dir.join(format_args!("hugetlb.{size}.{name}"));
        let Some(bytes) = root.read_opt(&file)? else {
            continue;
        };
        let invalid = || FileError::content(&file, "not a count of refusals");
        let count = count(&bytes).ok_or_else(invalid)?;
        return Ok((count > 0).then_some(Refusals { file, size, count }));
    }
    Ok(None)
}

/// Parses a line `max 3` or a single number.
fn count(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| {
        line.strip_prefix("max ")
            .unwrap_or(line)
            .trim()
            .parse()
            .ok()
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests use files of their own")]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Found {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let sizes = [2 << 20, 1 << 30].map(|bytes| PageSize::new(bytes).unwrap());
        read(&Root::at(dir.path()).unwrap(), &sizes).unwrap()
    }

    fn counts(found: &Found) -> Vec<(&str, u64)> {
        let all = found.refusals.iter();
        all.map(|it| (it.file.as_str(), it.count)).collect()
    }

    #[test]
    fn a_group_of_version_2_counts_its_own() {
        let mounts = "30 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let found = found(&[
            ("/proc/self/mountinfo", mounts),
            ("/sys/fs/cgroup/cgroup.controllers", "cpu hugetlb memory\n"),
            ("/sys/fs/cgroup/a/hugetlb.2MB.events", "max 9\n"),
            ("/sys/fs/cgroup/a/hugetlb.2MB.events.local", "max 0\n"),
            ("/sys/fs/cgroup/a/b/hugetlb.2MB.events", "max 9\n"),
            ("/sys/fs/cgroup/a/b/hugetlb.2MB.events.local", "max 7\n"),
            ("/sys/fs/cgroup/a/b/hugetlb.1GB.events", "max 2\n"),
            ("/sys/fs/cgroup/odd/hugetlb.2MB.events", "none\n"),
        ]);
        assert!(found.controller);
        assert_eq!(
            counts(&found),
            [
                ("/sys/fs/cgroup/a/b/hugetlb.2MB.events.local", 7),
                ("/sys/fs/cgroup/a/b/hugetlb.1GB.events", 2),
            ]
        );
        assert_eq!(
            found.unread[0].to_string(),
            "cannot read /sys/fs/cgroup/odd/hugetlb.2MB.events: not a count of refusals"
        );
    }

    #[test]
    fn version_1_counts_reservations_apart() {
        let mounts = "30 1 0:27 / /cg rw - cgroup cgroup rw,hugetlb\n";
        let found = found(&[
            ("/proc/self/mountinfo", mounts),
            ("/cg/a/hugetlb.2MB.failcnt", "3\n"),
            ("/cg/a/hugetlb.2MB.rsvd.failcnt", "4\n"),
        ]);
        assert_eq!(
            counts(&found),
            [
                ("/cg/a/hugetlb.2MB.failcnt", 3),
                ("/cg/a/hugetlb.2MB.rsvd.failcnt", 4),
            ]
        );
    }

    #[test]
    fn without_the_controller_nothing_is_counted() {
        let mounts = "30 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let found = found(&[
            ("/proc/self/mountinfo", mounts),
            ("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
            ("/sys/fs/cgroup/a/hugetlb.2MB.events", "max 9\n"),
        ]);
        assert_eq!(found, Found::default());
    }
}

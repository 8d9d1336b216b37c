//! Control groups: `/proc/<pid>/cgroup` and limits such as `memory.max`.

use crate::number;

/// The version of the cgroup interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy per controller.
    One,
    /// One hierarchy for all controllers.
    Two,
}

/// The control group of a process in one hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group<'a> {
    /// The version of the hierarchy.
    pub version: Version,
    /// The path from the root of the reader's cgroup namespace, as `/a/b`.
    pub path: &'a [u8],
}

impl<'a> Group<'a> {
    /// Returns the names along the path.
    pub fn names(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let names = self.path.split(|byte| *byte == b'/');
        names.filter(|name| !name.is_empty())
    }

    /// Whether the group is outside the reader's cgroup namespace: its files are invisible.
    pub fn is_outside_namespace(&self) -> bool {
        self.names().any(|name| name == b"..")
    }
}

/// Returns a process's groups in the controller's version 1 hierarchy (`5:cpu,memory:/a`) and
/// in version 2 (`0::/a`).
pub fn groups<'a>(text: &'a [u8], controller: &str) -> impl Iterator<Item = Group<'a>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(move |line| group(line, controller.as_bytes()))
}

fn group<'a>(line: &'a [u8], controller: &[u8]) -> Option<Group<'a>> {
    let mut fields = line.splitn(3, |byte| *byte == b':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let version = match (number, controllers) {
        (b"0", b"") => Version::Two,
        (_, names)
            if names
                .split(|byte| *byte == b',')
                .any(|name| name == controller) =>
        {
            Version::One
        }
        _ => return None,
    };
    Some(Group { version, path })
}

/// The contents of a limit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    None,
    /// A limit in bytes.
    Bytes(u64),
}

impl Limit {
    /// Parses the file; `None` if it is invalid. No limit is `max` in version 2, and a number
    /// near 2^63 in version 1.
    pub fn parse(text: &[u8]) -> Option<Limit> {
        const UNLIMITED: u64 = 1 << 62;
        if text.trim_ascii() == b"max" {
            return Some(Limit::None);
        }
        number::parse_whole(text).map(|bytes| match bytes < UNLIMITED {
            true => Limit::Bytes(bytes),
            false => Limit::None,
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn paths<'a>(text: &'a [u8], controller: &str) -> Vec<(Version, &'a [u8])> {
        let groups = groups(text, controller);
        groups.map(|group| (group.version, group.path)).collect()
    }

    #[test]
    fn lines_of_both_versions() {
        let text = b"5:cpu,memory:/a/b\n1:name=systemd:/x\n0::/c:d\n";
        let two = (Version::Two, &b"/c:d"[..]);
        assert_eq!(paths(text, "memory"), [(Version::One, &b"/a/b"[..]), two]);
        assert_eq!(paths(text, "hugetlb"), [two]);
        assert_eq!(paths(b"x\n7:memory\n", "memory"), []);
    }

    #[test]
    fn names_are_in_order_from_the_root() {
        let group = |path| Group {
            version: Version::Two,
            path,
        };
        let names: Vec<_> = group(b"/a//b/").names().collect();
        assert_eq!(names, [&b"a"[..], b"b"]);
        assert!(group(b"/../x").is_outside_namespace() && !group(b"/..x").is_outside_namespace());
    }

    #[test]
    fn limits_of_both_versions() {
        assert_eq!(Limit::parse(b"max\n"), Some(Limit::None));
        assert_eq!(Limit::parse(b"9223372036854771712\n"), Some(Limit::None));
        assert_eq!(Limit::parse(b"0\n"), Some(Limit::Bytes(0)));
        assert_eq!(Limit::parse(b"many\n"), None);
        assert_eq!(Limit::parse(b""), None);
    }
}

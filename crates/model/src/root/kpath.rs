//! Paths of kernel files.

use std::fmt;

/// A logical absolute path of a kernel file, such as `/proc/meminfo`.
///
/// It is built from constants, typed values, names that the kernel reports, and hugeadm's own
/// records. It never contains input of the command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KPath(String);

impl KPath {
    /// Returns the path one level down.
    pub fn join(&self, piece: impl fmt::Display) -> KPath {
        KPath(format!("{}/{piece}", self.0.trim_end_matches('/')))
    }

    /// Returns a sibling: the file of this name in the same directory.
    #[must_use]
    pub fn beside(&self, name: &'static str) -> KPath {
        let dir = self.0.rsplit_once('/').map_or("", |(dir, _)| dir);
        KPath(format!("{dir}/{name}"))
    }

    /// Returns a path from the rollback record; `None` if it is not a kernel setting.
    pub fn recorded(path: &str) -> Option<KPath> {
        let is_setting = path.starts_with("/proc/sys/") || path.starts_with("/sys/");
        (is_setting && !path.contains("..")).then(|| KPath(path.to_owned()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for KPath {
    fn from(path: &'static str) -> KPath {
        debug_assert!(path.starts_with('/'), "a kernel path is absolute");
        KPath(path.to_owned())
    }
}

impl fmt::Display for KPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

//! What cannot be seen of the kernel, as in a chroot or a container.

use std::fmt;

use hugetools_model::{KPath, Root};

/// Where the kernel has its settings of memory, whatever it was built with.
pub const SETTINGS: &str = "/sys/kernel/mm";

/// A file, or folder, that each kernel has, and that does not show here what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// It is not there, as in a chroot without `/sys`.
    Absent(&'static str),
    /// Something empty lies over it, as container engines put there.
    Empty(&'static str),
}

impl Hidden {
    /// Its path.
    pub fn path(self) -> &'static str {
        match self {
            Hidden::Absent(path) | Hidden::Empty(path) => path,
        }
    }

    /// What is found of it, in a word.
    pub fn value(self) -> &'static str {
        match self {
            Hidden::Absent(_) => "absent",
            Hidden::Empty(_) => "empty",
        }
    }

    /// The command that makes it appear.
    pub fn to_see(self) -> &'static str {
        to_see(self.path())
    }
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hidden::Absent(path) => write!(f, "{path} is not there"),
            Hidden::Empty(path) => write!(f, "{path} is empty"),
        }
    }
}

/// Whether none of the kernel's settings of memory can be seen, and how that shows.
pub fn hidden_settings(root: &Root) -> Option<Hidden> {
    // Listing a directory takes five times as long.
    if root.exists(&KPath::from("/sys/kernel/mm/transparent_hugepage")) {
        return None;
    }
    let path = KPath::from(SETTINGS);
    if !root.exists(&path) {
        return Some(Hidden::Absent(SETTINGS));
    }
    let is_empty = root.list(&path).is_ok_and(|names| names.is_empty());
    is_empty.then_some(Hidden::Empty(SETTINGS))
}

/// What is so where no pool was found: there may be some that cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPools {
    /// The machine has none.
    Absent,
    /// This would tell, and cannot be seen.
    Hidden(Hidden),
}

impl NoPools {
    /// Looks why there are none.
    pub fn find(root: &Root) -> NoPools {
        const MEMINFO: &str = "/proc/meminfo";
        if !root.exists(&KPath::from(MEMINFO)) {
            return NoPools::Hidden(Hidden::Absent(MEMINFO));
        }
        hidden_settings(root).map_or(NoPools::Absent, NoPools::Hidden)
    }
}

impl fmt::Display for NoPools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPools::Absent => f.write_str("this machine has no huge page pools"),
            NoPools::Hidden(hidden) => {
                write!(f, "no huge page pool can be seen, since {hidden}")
            }
        }
    }
}

/// The command that makes a file below `/proc` or `/sys` appear which is not there.
pub fn to_see(path: &str) -> &'static str {
    match path.starts_with("/proc") {
        true => "mount -t proc proc /proc",
        false => "mount -t sysfs sysfs /sys",
    }
}

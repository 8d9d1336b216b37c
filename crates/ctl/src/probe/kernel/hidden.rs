//! Kernel files that cannot be seen, as in a chroot or a container.

use std::fmt;

use hugetools_model::{KPath, Root};

use crate::say::shortfall::Shortfall;

/// The directory of the memory settings. Every kernel has it.
const SETTINGS: &str = "/sys/kernel/mm";

const MEMINFO: &str = "/proc/meminfo";

/// A file or directory that every kernel has, but that cannot be seen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) path: &'static str,
    /// `absent`, as in a chroot; `empty`, as under a mount of a container engine.
    pub(crate) value: &'static str,
}

impl Hidden {
    const fn absent(path: &'static str) -> Hidden {
        let value = "absent";
        Hidden { path, value }
    }

    /// Adds the hidden path, and the command that makes it visible.
    pub(crate) fn explain(self, short: Shortfall) -> Shortfall {
        let command = match self.path.starts_with("/proc") {
            true => "mount -t proc proc /proc",
            false => "mount -t sysfs sysfs /sys",
        };
        let short = short.source(self.path, self.value);
        short.mend("to see it", command)
    }
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            "absent" => write!(f, "{} is not there", self.path),
            value => write!(f, "{} is {value}", self.path),
        }
    }
}

/// Returns the directory of the memory settings if it cannot be seen.
pub(crate) fn hidden_settings(root: &Root) -> Option<Hidden> {
    // Listing a directory takes five times as long.
    if root.exists(&KPath::from("/sys/kernel/mm/transparent_hugepage")) {
        return None;
    }
    let path = KPath::from(SETTINGS);
    if !root.exists(&path) {
        return Some(Hidden::absent(SETTINGS));
    }
    let is_empty = root.list(&path).is_ok_and(|names| names.is_empty());
    is_empty.then_some(Hidden {
        path: SETTINGS,
        value: "empty",
    })
}

/// Why no pool was found: the machine has none, or this file is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NoPools(pub Option<Hidden>);

impl NoPools {
    pub(crate) fn find(root: &Root) -> NoPools {
        NoPools(match root.exists(&KPath::from(MEMINFO)) {
            true => hidden_settings(root),
            false => Some(Hidden::absent(MEMINFO)),
        })
    }
}

impl fmt::Display for NoPools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("this machine has no huge page pools"),
            Some(hidden) => write!(f, "no huge page pool can be seen, since {hidden}"),
        }
    }
}

//! Kernel files that cannot be seen, as in a chroot or a container.

use std::fmt;

use hugetools_model::machine::MEMINFO;
use hugetools_model::{KPath, Root};

use crate::say::shortfall::Shortfall;

/// The directory of the memory settings. Every kernel has it.
const SETTINGS: &str = "/sys/kernel/mm";

/// A file or directory that every kernel has, but that cannot be seen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hidden(&'static str);

impl Hidden {
    /// Adds the hidden path, and the command that makes it visible.
    pub(crate) fn explain(self, short: Shortfall) -> Shortfall {
        let command = match self.0 {
            SETTINGS => "mount -t sysfs sysfs /sys",
            _ => "mount -t proc proc /proc",
        };
        let short = short.source(self.0, "hidden");
        short.mend("to see it", command)
    }
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is hidden", self.0)
    }
}

/// Returns the directory of the memory settings if it is absent, as in a chroot, or empty, as
/// under a mount of a container engine.
pub(crate) fn hidden_settings(root: &Root) -> Option<Hidden> {
    // Listing a directory takes five times as long.
    if root.exists(&KPath::from("/sys/kernel/mm/transparent_hugepage")) {
        return None;
    }
    let names = root.list(&KPath::from(SETTINGS));
    let is_hidden = names.is_ok_and(|names| names.is_empty());
    is_hidden.then_some(Hidden(SETTINGS))
}

/// Why no pool was found: the machine has none, or this file is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NoPools(pub Option<Hidden>);

impl NoPools {
    pub(crate) fn find(root: &Root) -> NoPools {
        NoPools(match root.exists(&KPath::from(MEMINFO)) {
            true => hidden_settings(root),
            false => Some(Hidden(MEMINFO)),
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

//! The host of a process, its rank in a parallel job, and its parent.

use hugetools_contract::report::{self, Origin};
use hugetools_model::process::{self, Pid};
use hugetools_model::{KPath, Root};

/// An [`Origin`] that outlives the process.
#[derive(Debug, Clone)]
pub(crate) struct OwnOrigin {
    host: Option<Vec<u8>>,
    rank: Option<u32>,
    parent: Option<u32>,
}

impl OwnOrigin {
    /// Reads the origin; an unreadable field is `None`.
    pub(crate) fn find(root: &Root, pid: Pid) -> OwnOrigin {
        let environ = process::read_environ(root, pid).unwrap_or_default();
        let host = root.read_opt(&KPath::from("/proc/sys/kernel/hostname"));
        let host = host.ok().flatten().unwrap_or_default();
        let host = host.trim_ascii();
        OwnOrigin {
            host: (!host.is_empty()).then(|| host.to_vec()),
            rank: report::rank(&environ),
            parent: process::parent(root, pid),
        }
    }

    pub(crate) fn get(&self) -> Origin<'_> {
        Origin {
            host: self.host.as_deref(),
            rank: self.rank,
            parent: self.parent,
        }
    }
}

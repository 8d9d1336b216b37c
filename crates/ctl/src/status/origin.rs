//! Where a process runs, which one of a parallel job it is, and what started it.

use hugetools_contract::report::{self, Origin};
use hugetools_model::process::{self, Pid};
use hugetools_model::{KPath, Root};

/// The same as [`Origin`], for longer than the process is there.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnOrigin {
    host: Option<Vec<u8>>,
    rank: Option<u32>,
    parent: Option<u32>,
}

impl OwnOrigin {
    /// Looks at a process; what cannot be read is unknown.
    pub(crate) fn find(root: &Root, pid: Pid) -> OwnOrigin {
        let environ = process::read_environ(root, pid).unwrap_or_default();
        OwnOrigin {
            host: host(root),
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

fn host(root: &Root) -> Option<Vec<u8>> {
    let text = root
        .read_opt(&KPath::from("/proc/sys/kernel/hostname"))
        .ok()??;
    let name = text.trim_ascii();
    (!name.is_empty()).then(|| name.to_vec())
}

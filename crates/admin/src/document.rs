//! Everything that a run says, as one value: the JSON document, and what the
//! text is made from. The fields are described in hugeadm(8).

use hugetools_model::PageSize;
use serde::Serialize;

use crate::advice::Finding;
use crate::listing::{MountRow, NodeRow, PoolRow};
use crate::persistent::Persistent;
use crate::report::{Status, TaskReport};

/// What a run says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// `hugeadm`
    pub tool: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Whether changes were only planned.
    pub dry_run: bool,
    /// The exit status.
    pub status: u8,
    /// What was wrong before anything was done.
    pub errors: Vec<String>,
    /// What was understood in a way that should be said.
    pub notes: Vec<String>,
    /// `--list-all-mounts`, as it was before the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<MountRow>>,
    /// `--pool-list`, as it was before the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<PoolRow>>,
    /// `--pool-list-nodes`, as it was before the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<NodeRow>>,
    /// The options that change something, in the order in which they were
    /// carried out.
    pub tasks: Vec<TaskReport>,
    /// `--page-sizes`, as it is after the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_sizes: Option<Vec<PageSize>>,
    /// `--page-sizes-all`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_sizes_all: Option<Vec<PageSize>>,
    /// `--explain`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// `--print-persistent`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent: Option<Persistent>,
}

impl Document {
    /// Nothing said yet.
    pub fn new(dry_run: bool) -> Document {
        Document {
            tool: "hugeadm",
            version: env!("CARGO_PKG_VERSION"),
            dry_run,
            status: Status::Done.code(),
            errors: Vec::new(),
            notes: Vec::new(),
            mounts: None,
            pools: None,
            nodes: None,
            tasks: Vec::new(),
            page_sizes: None,
            page_sizes_all: None,
            findings: None,
            persistent: None,
        }
    }
}

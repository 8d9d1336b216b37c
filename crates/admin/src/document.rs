//! The output of a run: printed as a JSON document, or formatted as text. hugetools-json(7)
//! describes the fields.
//!
//! **Invariants.** Existing fields keep their names and meanings. Unknown values are `null`.

use hugetools_model::{Head, PageSize};
use serde::Serialize;

use crate::advice::{Fact, Finding};
use crate::bug_report::BugReport;
use crate::config::check::Difference;
use crate::listing::size_for::SizeFor;
use crate::listing::who::PoolAccount;
use crate::listing::{MountRow, NodeRow, PoolRow};
use crate::report::TaskReport;
use crate::stats::Stats;

/// The output of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Document {
    /// The common head of all documents.
    #[serde(flatten)]
    pub head: Head,
    /// Whether changes were only planned.
    pub dry_run: bool,
    /// `--list-all-mounts`, before the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<MountRow>>,
    /// `--pool-list` before the changes; with `--who`, all pools after them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<PoolEntry>>,
    /// `--pool-list-nodes`, before the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<NodeRow>>,
    /// The results of changes, in the order of execution.
    pub tasks: Vec<TaskReport>,
    /// `--check`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<Difference>>,
    /// `--page-sizes`, after the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_sizes: Option<Vec<PageSize>>,
    /// `--page-sizes-all`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_sizes_all: Option<Vec<PageSize>>,
    /// `--explain`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// `--explain`: facts without a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<Vec<Fact>>,
    /// `--bug-report`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bug_report: Option<BugReport>,
    /// `--size-for`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_for: Option<SizeFor>,
    /// `--metrics`: the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// `--stats`
    #[serde(flatten)]
    pub stats: Option<Stats>,
}

/// An entry of `pools`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PoolEntry {
    /// Its figures (`--pool-list`).
    Listed(PoolRow),
    /// Its figures and its users (`--who`).
    Held(PoolAccount),
}

impl Document {
    /// Returns an empty document.
    pub fn new(dry_run: bool) -> Document {
        Document {
            head: Head::new("hugeadm"),
            dry_run,
            ..Document::default()
        }
    }
}

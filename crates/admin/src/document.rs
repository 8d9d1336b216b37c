//! Everything that a run says, as one value: the JSON document, and what the
//! text is made from. The fields are described in hugeadm(8).
//!
//! **Invariants.** A field that is there once stays, with its meaning. What is unknown is
//! `null`.

use hugetools_model::{Head, PageSize};
use serde::Serialize;

use crate::advice::{Fact, Finding};
use crate::bug_report::BugReport;
use crate::listing::{MountRow, NodeRow, PoolRow};
use crate::persistent::Persistent;
use crate::report::TaskReport;
use crate::stats::Stats;
use crate::who::{Held, PoolAccount};

/// What a run says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// What all documents begin with.
    #[serde(flatten)]
    pub head: Head,
    /// Whether changes were only planned.
    pub dry_run: bool,
    /// `--list-all-mounts`, as it was before the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<MountRow>>,
    /// `--pool-list`, as it was before the changes, and `--who`, as it is after them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<PoolEntry>>,
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
    /// `--explain`: what else is worth knowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<Vec<Fact>>,
    /// `--print-persistent`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent: Option<Persistent>,
    /// `--bug-report`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bug_report: Option<BugReport>,
    /// `--stats`
    #[serde(flatten)]
    pub stats: Option<Stats>,
}

/// What is said of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PoolEntry {
    /// Its figures.
    Listed(PoolRow),
    /// Who has its pages.
    Held(PoolAccount),
    /// Both.
    Both {
        /// Its figures.
        #[serde(flatten)]
        row: PoolRow,
        /// All its pages.
        total: u64,
        /// Who has them.
        #[serde(flatten)]
        held: Held,
    },
}

impl Document {
    /// Adds who has the pages of the pools to what there is.
    pub fn add_accounts(&mut self, accounts: Vec<PoolAccount>) {
        let mut entries = self.pools.take().unwrap_or_default();
        for account in accounts {
            let listed = entries
                .iter_mut()
                .find(|entry| matches!(entry, PoolEntry::Listed(row) if row.size == account.size));
            match listed {
                Some(entry) => entry.add(account),
                None => entries.push(PoolEntry::Held(account)),
            }
        }
        self.pools = Some(entries);
    }
}

impl PoolEntry {
    fn add(&mut self, account: PoolAccount) {
        if let PoolEntry::Listed(row) = self {
            *self = PoolEntry::Both {
                row: row.clone(),
                total: account.total,
                held: account.held,
            };
        }
    }
}

impl Document {
    /// Nothing said yet.
    pub fn new(dry_run: bool) -> Document {
        Document {
            head: Head::new("hugeadm"),
            dry_run,
            mounts: None,
            pools: None,
            nodes: None,
            tasks: Vec::new(),
            page_sizes: None,
            page_sizes_all: None,
            findings: None,
            facts: None,
            persistent: None,
            bug_report: None,
            stats: None,
        }
    }
}

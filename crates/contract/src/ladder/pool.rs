//! How many pages a segment can get from a pool.

use super::Reason;

/// The bytes that a limit leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rest {
    /// Usage cannot be read; counts as 0.
    Unknown,
    /// This many bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl Rest {
    /// Returns the bytes; `u64::MAX` without a limit.
    pub const fn bytes(self) -> u64 {
        match self {
            Rest::Unknown => 0,
            Rest::Bytes(bytes) => bytes,
            Rest::Unlimited => u64::MAX,
        }
    }
}

/// The pool of one page size, for one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Page size in bytes; never 0.
    pub size: u64,
    /// Free unreserved pages on the nodes of the process, and pages that overcommit can add.
    pub pages: u64,
    /// The bytes that the hugetlb control group leaves.
    pub group: Rest,
    /// Pages that `HUGETLB_LIMIT` allows.
    pub quota: u64,
    /// Pages that other segments of the process take first.
    pub taken: u64,
}

impl Pool {
    /// Returns the number of pages that the segment can get.
    pub fn obtainable(&self) -> u64 {
        let group = self.group.bytes() / self.size;
        let pages = self.pages.min(group).min(self.quota);
        pages.saturating_sub(self.taken)
    }

    /// Returns the tightest limit of [`Pool::obtainable`]; `None` if it is a quota of at least a
    /// page, which is the user's choice.
    pub(super) fn reason(&self) -> Option<Reason> {
        let size = self.size;
        if self.quota < self.pages.min(self.group.bytes() / size) {
            return (self.quota == 0).then_some(Reason::Quota { size });
        }
        Some(match self.group.bytes() / size < self.pages {
            true => Reason::Group {
                size,
                rest: self.group,
            },
            false => Reason::Pool {
                size,
                pages: self.pages,
            },
        })
    }
}

//! The pool of one size, and what limits it.

use std::collections::BTreeSet;

use hugetools_model::hugetlb::node::{self, NodeId};
use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::cgroup::{self, Limit};
use hugetools_model::{Bytes, FileError, KPath, PageCount, PageSize, Root};

use super::{USEFUL, hidden_settings};
use crate::caller::filter::{Answer, Filter};
use crate::sys;

/// The pool of a size that is asked for, and what limits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The pool.
    pub pool: Pool,
    /// The tightest control group limit.
    pub limit: Option<Limit>,
    /// What it has on the nodes that the process may use, where these are not
    /// all.
    pub share: Option<Share>,
    /// Whether its own files cannot be seen: then its figures are those of
    /// `/proc/meminfo`.
    pub is_hidden: bool,
}

/// A pool's pages on some nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The nodes.
    pub nodes: BTreeSet<u32>,
    /// The pages that nobody uses.
    pub free: PageCount,
}

impl Source {
    /// Bytes that a new mapping can get: free pages that are not promised, and
    /// those that the kernel may make on demand.
    pub fn available(&self) -> Bytes {
        let room = match self.pool.overcommit {
            Some(overcommit) => overcommit.saturating_sub(self.pool.surplus),
            None => PageCount::ZERO,
        };
        let free = match &self.share {
            Some(share) => share.free.min(self.pool.available()),
            None => self.pool.available(),
        };
        let pages = free.checked_add(room);
        let bytes = pages.and_then(|pages| self.pool.size.of(pages));
        bytes.unwrap_or(Bytes::new(u64::MAX))
    }

    /// The same, within the limit. Of one that cannot be told it is not known that
    /// anything is left.
    pub fn obtainable(&self) -> Bytes {
        match &self.limit {
            Some(limit) => self.available().min(limit.rest().unwrap_or_default()),
            None => self.available(),
        }
    }
}

/// Reads the pool of a size, and what limits it where it has something to
/// give, or where that is asked for.
pub(super) fn read(
    root: &Root,
    size: PageSize,
    meminfo: &Meminfo,
    (thorough, filter): (bool, &Filter),
) -> Result<Option<Source>, FileError> {
    let pool = match pool_in_meminfo(size, meminfo).filter(|_| root.is_live()) {
        Some(pool) => Some(pool),
        None => pool::read_size(root, size, meminfo)?,
    };
    let Some(pool) = pool else {
        return Ok(None);
    };
    let mut source = Source {
        pool,
        limit: None,
        share: None,
        is_hidden: root.is_live() && hidden_settings(root).is_some(),
    };
    let may_ask = root.is_live() && filter.policy != Answer::Ends;
    if source.pool.free > PageCount::ZERO && may_ask {
        source.share = read_share(root, size, sys::allowed_nodes())?;
    }
    if source.pool.overcommit.is_none() && source.available() < USEFUL {
        source.pool.overcommit = pool::read_overcommit(root, &source.pool)?;
    }
    if thorough || source.available() > Bytes::default() {
        let membership = KPath::from("/proc/self/cgroup");
        source.limit = cgroup::tightest(root, &membership, size)?;
    }
    Ok(Some(source))
}

/// What the pool has on the nodes that the process may use. Most processes may
/// use all, and then one file says so.
pub(super) fn read_share(
    root: &Root,
    size: PageSize,
    allowed: Option<BTreeSet<u32>>,
) -> Result<Option<Share>, FileError> {
    let (Some(nodes), Some(online)) = (allowed, node::online(root)?) else {
        return Ok(None);
    };
    if online.is_subset(&nodes) {
        return Ok(None);
    }
    let mut free = PageCount::ZERO;
    for number in &nodes {
        let pages = node::free_pages(root, NodeId::new(*number), size)?;
        let sum = free.checked_add(pages.unwrap_or(PageCount::ZERO));
        free = sum.unwrap_or(free);
    }
    Ok(Some(Share { nodes, free }))
}

/// The counters of the default size, which `/proc/meminfo` holds as well: one
/// file instead of five. On a recorded tree only the pool's own files count.
fn pool_in_meminfo(size: PageSize, meminfo: &Meminfo) -> Option<Pool> {
    if meminfo.huge_page_size != Some(size) {
        return None;
    }
    Some(Pool {
        size,
        default: true,
        total: meminfo.huge_total?,
        free: meminfo.huge_free?,
        reserved: meminfo.huge_reserved?,
        surplus: meminfo.huge_surplus?,
        overcommit: None,
        demote_size: None,
    })
}

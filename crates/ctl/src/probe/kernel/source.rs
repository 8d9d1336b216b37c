//! The pool of one page size, and what limits it.

use std::collections::BTreeSet;

use hugetools_contract::ladder::{self, Rest};
use hugetools_model::hugetlb::node::{self, NodeId};
use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::cgroup::{self, Limit};
use hugetools_model::units::list::format_list;
use hugetools_model::{Bytes, FileError, KPath, PageCount, PageSize, Root};

use crate::caller::filter::{Answer, Filter};
use crate::say::shortfall::Shortfall;
use crate::sys;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) pool: Pool,
    /// The tightest limit of the hugetlb control groups.
    pub(crate) limit: Option<Limit>,
    /// The pool's pages on the nodes of the process; `None` if these are all nodes, or unknown.
    pub(crate) share: Option<Share>,
}

/// The free pages of a pool on some nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) nodes: BTreeSet<u32>,
    pub(crate) free: PageCount,
}

impl Source {
    /// Returns the bytes that a new mapping can get, without regard to control groups: free
    /// unreserved pages, and pages that overcommit adds.
    pub(crate) fn available(&self) -> Bytes {
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

    /// Returns the same within the control groups' limit; 0 if their usage is unknown.
    pub(crate) fn obtainable(&self) -> Bytes {
        let limit = self.limit.as_ref();
        let rest = limit.map(|limit| limit.unused().unwrap_or_default());
        rest.map_or(self.available(), |rest| self.available().min(rest))
    }

    pub(crate) fn facts(&self, quota: u64, taken: u64) -> ladder::Pool {
        let rest = self.limit.as_ref().map(Limit::unused);
        ladder::Pool {
            size: self.pool.size.get(),
            pages: self.available().get() / self.pool.size.get(),
            group: match rest {
                None => Rest::Unlimited,
                Some(None) => Rest::Unknown,
                Some(Some(bytes)) => Rest::Bytes(bytes.get()),
            },
            quota,
            taken,
        }
    }

    /// Returns the share if it has fewer pages than the whole pool.
    fn short_share(&self) -> Option<&Share> {
        let share = self.share.as_ref();
        share.filter(|share| share.free < self.pool.available())
    }

    /// Describes why the pool has no page.
    pub(crate) fn shortage(&self) -> String {
        let pool = &self.pool;
        match (pool.total.get(), self.short_share()) {
            (0, _) => "is empty".to_owned(),
            (total, Some(share)) => format!(
                "has no page left on node {}, which this process is bound to ({total} in all)",
                format_list(&share.nodes)
            ),
            (total, None) => format!(
                "has no page left ({total} in all, {} free, {} of them reserved)",
                pool.free, pool.reserved
            ),
        }
    }

    /// Adds the file with the pool's free pages, and the command that adds `pages`; for memory
    /// that grows, advice on the number.
    pub(crate) fn remedy(&self, short: Shortfall, pages: u64) -> Shortfall {
        let size = self.pool.size;
        let short = match self.short_share() {
            Some(share) => short.source(share.file(size), share.free),
            None => short.source(
                pool::pool_dir(size).join("free_hugepages"),
                match self.pool.reserved.get() {
                    0 => self.pool.free.to_string(),
                    reserved => format!("{} (resv_hugepages {reserved})", self.pool.free),
                },
            ),
        };
        if !short.subject.is_of_file() {
            // The final size of memory that grows is unknown.
            return short.advise(SIZE_FOR);
        }
        let share = self.share.as_ref();
        let nodes = share.map(|share| format!("@{}", format_list(&share.nodes)));
        let nodes = nodes.unwrap_or_default();
        let command = format!("hugeadm --pool-pages-min {size}{nodes}:+{}", pages.max(1));
        short.mend("to fill it", command)
    }
}

/// Advice on a pool for memory that grows.
const SIZE_FOR: &str = "hugeadm --size-for PID says how many pages a running program needs";

impl Share {
    /// Returns the file with a node's free pages; for several nodes, with a list in brackets.
    fn file(&self, size: PageSize) -> String {
        let nodes = match self.nodes.len() {
            1 => format_list(&self.nodes),
            _ => format!("[{}]", format_list(&self.nodes)),
        };
        let pool = format!("hugepages-{}kB", size.kib());
        format!("/sys/devices/system/node/node{nodes}/hugepages/{pool}/free_hugepages")
    }
}

/// Reads the pool of a size. Reads limits if the pool has pages, or if `thorough`.
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
    };
    let may_ask = root.is_live() && filter.policy != Answer::Kills;
    if source.pool.free > PageCount::ZERO && may_ask {
        source.share = read_share(root, size, sys::allowed_nodes())?;
    }
    if source.pool.overcommit.is_none() {
        source.pool.overcommit = pool::read_overcommit(root, &source.pool)?;
    }
    if thorough || source.available() > Bytes::default() {
        let membership = KPath::from("/proc/self/cgroup");
        source.limit = cgroup::tightest_hugetlb(root, &membership, size)?;
    }
    Ok(Some(source))
}

/// Reads the free pages on the nodes that the process may use; `None` if these are all, or
/// unknown.
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

/// Returns the pool of the default size from `/proc/meminfo`: one file instead of five. Not
/// for a recorded tree, where only the pool's own files count.
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
    })
}

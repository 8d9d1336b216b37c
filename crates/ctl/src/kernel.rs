//! What preflight needs to know of the kernel: read once, and no file more
//! than the request calls for, because every program waits for it.

use std::collections::BTreeSet;
use std::path::Path;

use hugetools_contract::env::{Fallback, Pages};
use hugetools_model::cgroup::{self, Limit};
use hugetools_model::meminfo::Meminfo;
use hugetools_model::node::{self, NodeId};
use hugetools_model::pool::{self, Pool};
use hugetools_model::process::{self, Pid};
use hugetools_model::sysctl;
use hugetools_model::thp::Thp;
use hugetools_model::{Bytes, FileError, KPath, PageCount, PageSize, Root};
use nix::sys::resource::{Resource, getrlimit};

use crate::caller::Caller;
use crate::failure::Failure;
use crate::sys;

/// Less than this is not worth a pool's administration: a few regions of the
/// heap.
pub const USEFUL: Bytes = Bytes::new(16 << 20);

/// Checks that the machine has pages of a size that an option asks for.
///
/// # Errors
/// When it has not, with the sizes that it has.
pub fn check_size(root: &Root, option: &str, pages: Option<Pages>) -> Result<(), Failure> {
    let Some(size) = pages.and_then(|pages| match pages {
        Pages::Size(bytes) => PageSize::new(bytes),
        Pages::Default | Pages::Thp => None,
    }) else {
        return Ok(());
    };
    if root.exists(&pool::pool_dir(size)) {
        return Ok(());
    }
    let file = |error: FileError| Failure::Own(error.to_string());
    let meminfo = Meminfo::read(root).map_err(file)?;
    let sizes = pool::sizes(root, meminfo.huge_page_size).map_err(file)?;
    if sizes.contains(&size) {
        return Ok(());
    }
    let names: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    let size = Bytes::new(size.get());
    Err(Failure::Own(match names.is_empty() {
        true => format!("{option}={size}: this machine has no huge page pools"),
        false => format!(
            "{option}={size}: this machine has no huge pages of that size; it has {}",
            names.join(", ")
        ),
    }))
}

/// What is asked of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// The heap's pages.
    pub heap: Option<Pages>,
    /// Shared memory's pages.
    pub shm: Option<Pages>,
    /// What follows when huge pages run out.
    pub fallback: Fallback,
    /// Whether hints that are no shortfall are wanted, too.
    pub hints: bool,
}

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

    /// The same, within the limit.
    pub fn obtainable(&self) -> Bytes {
        match &self.limit {
            Some(limit) => self.available().min(limit.rest()),
            None => self.available(),
        }
    }
}

/// The state of the kernel, as far as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kernel {
    /// The default huge page size.
    pub default: Option<PageSize>,
    /// The pools of the sizes that are asked for.
    pub sources: Vec<Source>,
    /// Transparent huge pages, where they are what the request may come to.
    pub thp: Option<Thp>,
    /// Whether this process may have no transparent huge pages at all.
    pub thp_disabled: bool,
    /// `vm.overcommit_memory`.
    pub overcommit: Option<u64>,
    /// The limit of the address space (`ulimit -v`).
    pub address_space: Option<Bytes>,
    /// The group to set so that the caller may have System V segments of pool
    /// pages, where the caller may not have any.
    pub shm_group: Option<String>,
}

impl Kernel {
    /// Reads the state.
    ///
    /// # Errors
    /// When a file that exists cannot be read or makes no sense.
    pub fn read(root: &Root, wants: Wants, caller: &Caller) -> Result<Kernel, FileError> {
        let mut kernel = Kernel::default();
        if wants.heap.is_some() || wants.shm.is_some() {
            kernel.read_pools(root, wants)?;
            kernel.read_others(root, wants, caller)?;
        }
        Ok(kernel)
    }

    /// The pool that pages of this kind come from.
    pub fn source(&self, pages: Pages) -> Option<&Source> {
        let size = self.size(pages)?;
        self.sources.iter().find(|source| source.pool.size == size)
    }

    /// The page size that is meant.
    pub fn size(&self, pages: Pages) -> Option<PageSize> {
        match pages {
            Pages::Default => self.default,
            Pages::Size(bytes) => PageSize::new(bytes),
            Pages::Thp => None,
        }
    }

    /// Whether private memory can have transparent huge pages.
    pub fn serves_private(&self) -> bool {
        self.thp.as_ref().is_some_and(Thp::serves_madvise) && !self.thp_disabled
    }

    /// Whether shared memory can have transparent huge pages.
    pub fn serves_shared(&self) -> bool {
        self.thp.as_ref().is_some_and(Thp::serves_shared_madvise) && !self.thp_disabled
    }

    /// Whether transparent huge pages are what the request comes to.
    pub fn comes_to_thp(&self, pages: Pages, fallback: Fallback) -> bool {
        match (pages, fallback) {
            (Pages::Thp, _) => true,
            (_, Fallback::Thp) => {
                let source = self.source(pages);
                source.is_none_or(|source| source.obtainable() < USEFUL)
            }
            _ => false,
        }
    }

    fn read_pools(&mut self, root: &Root, wants: Wants) -> Result<(), FileError> {
        let asked = [wants.heap, wants.shm].into_iter().flatten();
        let asked: Vec<_> = asked.filter(|pages| *pages != Pages::Thp).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let meminfo = Meminfo::read(root)?;
        self.default = meminfo.huge_page_size;
        for pages in asked {
            if let (Some(size), None) = (self.size(pages), self.source(pages)) {
                self.sources.extend(read_source(root, size, &meminfo)?);
            }
        }
        Ok(())
    }

    fn read_others(&mut self, root: &Root, wants: Wants, caller: &Caller) -> Result<(), FileError> {
        let asked = [wants.heap, wants.shm].into_iter().flatten();
        let mut asked = asked.filter(|pages| self.comes_to_thp(*pages, wants.fallback));
        let limited = self.sources.iter().any(|source| source.limit.is_some());
        if asked.next().is_some() || limited {
            self.thp = Thp::read_modes(root)?;
        }
        if wants.heap.is_some() {
            self.overcommit = root.number_opt(&KPath::from("/proc/sys/vm/overcommit_memory"))?;
        }
        if root.is_live() {
            let (soft, _) = getrlimit(Resource::RLIMIT_AS).unwrap_or((libc::RLIM_INFINITY, 0));
            self.address_space = (soft != libc::RLIM_INFINITY).then_some(Bytes::new(soft));
            self.thp_disabled = thp_disabled(root, caller)?;
        }
        let from_pool = wants.shm.is_some_and(|pages| pages != Pages::Thp);
        if wants.hints && from_pool && root.is_live() && !may_lock(root, caller)? {
            self.shm_group = Some(group_name(caller.egid));
        }
        Ok(())
    }
}

/// Reads the pool of a size, and what limits it where it has something to
/// give.
fn read_source(
    root: &Root,
    size: PageSize,
    meminfo: &Meminfo,
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
    if source.pool.free > PageCount::ZERO && root.is_live() {
        source.share = read_share(root, size, sys::allowed_nodes())?;
    }
    if source.pool.overcommit.is_none() && source.available() < USEFUL {
        source.pool.overcommit = pool::read_overcommit(root, &source.pool)?;
    }
    if source.available() > Bytes::default() {
        let membership = KPath::from("/proc/self/cgroup");
        source.limit = cgroup::tightest(root, &membership, size)?;
    }
    Ok(Some(source))
}

/// What the pool has on the nodes that the process may use. Most processes may
/// use all, and then one file says so.
fn read_share(
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

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force, for advised memory, too.
fn thp_disabled(root: &Root, caller: &Caller) -> Result<bool, FileError> {
    if !nix::sys::prctl::get_thp_disable().unwrap_or(false) {
        return Ok(false);
    }
    let Some(pid) = Pid::new(caller.pid) else {
        return Ok(false);
    };
    Ok(process::thp_enabled(root, pid)? != Some(true))
}

/// Whether the caller may have `SHM_HUGETLB`: by `CAP_IPC_LOCK` or by group.
fn may_lock(root: &Root, caller: &Caller) -> Result<bool, FileError> {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let status = root.read(&KPath::from("/proc/self/status"))?;
    let line = |name: &[u8]| {
        let mut lines = status.split(|byte| *byte == b'\n');
        lines.find_map(|line| Some(std::str::from_utf8(line.strip_prefix(name)?).ok()?.trim()))
    };
    let capabilities = line(b"CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok());
    if capabilities.is_some_and(|set| set & CAP_IPC_LOCK != 0) {
        return Ok(true);
    }
    let group = root.number_opt(&sysctl::shm_group_path())?;
    let in_group = |gid: u64| {
        let mut others = line(b"Groups:")
            .unwrap_or_default()
            .split_ascii_whitespace();
        gid == u64::from(caller.egid) || others.any(|other| other.parse() == Ok(gid))
    };
    // Group 0 is what the sysctl says when no group is set; it counts all the
    // same.
    Ok(group.is_some_and(in_group))
}

/// The name of a group, from the file alone: a name service would cost more
/// than the whole start.
fn group_name(gid: u32) -> String {
    let number = gid.to_string();
    let text = read_groups(Path::new("/etc/group"));
    let name = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, gid) = (fields.next()?, fields.nth(1)?);
        (gid == number && !name.is_empty()).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

fn read_groups(path: &Path) -> String {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read = crate::files::open_regular(path)
        .and_then(|(file, _)| file.take(16 << 20).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;

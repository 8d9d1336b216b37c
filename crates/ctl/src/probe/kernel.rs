//! The facts about the kernel for the plan. Every start waits for these reads, so only files
//! that the request needs are read.

mod group;
mod hidden;
mod source;

pub(crate) use group::ShmGroup;
use hidden::Hidden;
pub(crate) use hidden::{NoPools, hidden_settings};
pub(crate) use source::Source;

use hugetools_contract::env::{Fallback, Limit, Pages, Require};
use hugetools_contract::ladder::{Mode, ThpFacts};
use hugetools_model::hugetlb::pool;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::cgroup;
use hugetools_model::process::{self, Pid};
use hugetools_model::thp::Thp;
use hugetools_model::{Bytes, FileError, KPath, PageSize, Root};
use nix::sys::resource::{Resource, getrlimit};

use crate::caller::Caller;
use crate::caller::filter::{Answer, Filter};
use crate::say::failure::Failure;

/// Assumed size (bytes) of memory that grows.
pub(crate) const USEFUL: Bytes = Bytes::new(16 << 20);

pub(crate) const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// Checks that the machine has huge pages of the size that an option requests.
///
/// # Errors
/// It has none; the message names the sizes that it has.
pub(crate) fn check_size(root: &Root, option: &str, pages: Pages) -> Result<(), Failure> {
    let size = match pages {
        Pages::Size(bytes) => PageSize::new(bytes),
        Pages::Default | Pages::Thp => None,
    };
    let Some(size) = size else {
        return Ok(());
    };
    if root.exists(&pool::pool_dir(size)) {
        return Ok(());
    }
    let meminfo = Meminfo::read(root)?;
    let sizes = pool::sizes(root, meminfo.huge_page_size)?;
    if sizes.contains(&size) {
        return Ok(());
    }
    let names: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    let size = Bytes::new(size.get());
    Err(Failure::Own(match names.is_empty() {
        true => format!("{option}={size}: {}", NoPools::find(root)),
        false => format!(
            "{option}={size}: this machine has no huge pages of that size; it has {}\n  \
             --limit limits the memory on them",
            names.join(", ")
        ),
    }))
}

/// What is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wants {
    pub(crate) heap: Option<Pages>,
    pub(crate) shm: Option<Pages>,
    /// The pages of the program's own private mappings. If served, these are always
    /// transparent huge pages.
    pub(crate) anon: Option<Pages>,
    /// The pages of stacks, likewise.
    pub(crate) stack: Option<Pages>,
    pub(crate) text: Option<Pages>,
    /// The pages of data and bss.
    pub(crate) data: Option<Pages>,
    /// The fallback when huge pages run out.
    pub(crate) fallback: Fallback,
    pub(crate) require: Require,
    /// The share of the pools that one process may take.
    pub(crate) limit: Option<Limit>,
    /// Whether to read all facts, for `--explain`.
    pub(crate) thorough: bool,
}

impl Wants {
    pub(crate) fn are_any(&self) -> bool {
        self.all().next().is_some()
    }

    fn all(&self) -> impl Iterator<Item = Pages> {
        let anon = self.anon.map(|_| Pages::Thp);
        let stack = self.stack.map(|_| Pages::Thp);
        let all = [self.heap, self.shm, anon, stack, self.text, self.data];
        all.into_iter().flatten()
    }
}

/// The facts that the request needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Kernel {
    pub(crate) default: Option<PageSize>,
    /// The pools that may serve the request.
    pub(crate) sources: Vec<Source>,
    pub(crate) no_pools: NoPools,
    /// The settings of transparent huge pages, if the request may use them.
    pub(crate) thp: Option<Thp>,
    /// Set if these settings cannot be seen.
    pub(crate) thp_hidden: Option<Hidden>,
    /// Whether `prctl(PR_SET_THP_DISABLE)` is in force.
    pub(crate) thp_disabled: bool,
    /// Whether the program is known to disable transparent huge pages for itself. Only set for
    /// `--explain`: at a start the library notices it.
    pub(crate) thp_banned: bool,
    pub(crate) filter: Filter,
    pub(crate) overcommit: Option<u64>,
    /// The limit of the address space (`ulimit -v`).
    pub(crate) address_space: Option<Bytes>,
    /// Why System V segments cannot have pool pages. Only read for `--explain`.
    pub(crate) shm_group: Option<ShmGroup>,
    /// The tightest limit of the memory control groups. Only read for `--explain`.
    pub(crate) memory: Option<cgroup::Limit>,
}

impl Kernel {
    pub(crate) fn read(root: &Root, wants: Wants, caller: &Caller) -> Result<Kernel, FileError> {
        let mut kernel = Kernel {
            filter: caller.filter,
            ..Kernel::default()
        };
        if wants.are_any() {
            kernel.read_pools(root, wants)?;
            kernel.read_thp(root, wants, caller)?;
            kernel.read_limits(root, wants, caller)?;
        } else {
            // Text and data may be missing from the request because no page size was visible.
            kernel.no_pools = NoPools::find(root);
        }
        Ok(kernel)
    }

    pub(crate) fn source(&self, pages: Pages) -> Option<&Source> {
        self.of_size(self.size(pages)?)
    }

    pub(crate) fn size(&self, pages: Pages) -> Option<PageSize> {
        match pages {
            Pages::Default => self.default,
            Pages::Size(bytes) => PageSize::new(bytes),
            Pages::Thp => None,
        }
    }

    /// Returns the page sizes of the requested pool and of the default pool if its pages
    /// are smaller.
    pub(crate) fn pool_sizes(&self, pages: Pages) -> impl Iterator<Item = PageSize> + use<> {
        let asked = self.size(pages);
        let second = self
            .default
            .filter(|size| asked.is_some_and(|asked| *size < asked));
        asked.into_iter().chain(second)
    }

    pub(crate) fn of_size(&self, size: PageSize) -> Option<&Source> {
        self.sources.iter().find(|source| source.pool.size == size)
    }

    /// Returns the facts about transparent huge pages, for private memory.
    pub(crate) fn private_thp(&self) -> ThpFacts {
        let thp = self.thp.as_ref();
        let rest = self.memory.as_ref().map(|limit| limit.unused());
        ThpFacts {
            mode: self.mode(thp.and_then(|thp| thp.enabled.as_deref())),
            is_size_never: thp.is_some_and(Thp::is_pmd_size_never),
            is_disabled: self.thp_disabled,
            is_barred: self.filter.madvise != Answer::Allowed,
            room: rest.map_or(u64::MAX, |rest| rest.unwrap_or_default().get()),
            ..ThpFacts::ON
        }
    }

    /// Returns the facts about transparent huge pages, for shared memory.
    pub(crate) fn shared_thp(&self) -> ThpFacts {
        let thp = self.thp.as_ref();
        ThpFacts {
            mode: self.mode(thp.and_then(|thp| thp.shmem_enabled.as_deref())),
            is_shared: true,
            is_size_never: false,
            room: u64::MAX,
            ..self.private_thp()
        }
    }

    fn mode(&self, word: Option<&str>) -> Mode {
        match word {
            _ if self.thp_hidden.is_some() => Mode::Hidden,
            Some(word) => Mode::of_word(word.as_bytes()),
            None => Mode::Absent,
        }
    }

    pub(crate) fn serves_private(&self) -> bool {
        self.private_thp().verdict().is_ok()
    }

    fn read_pools(&mut self, root: &Root, wants: Wants) -> Result<(), FileError> {
        let asked: Vec<_> = wants.all().filter(|pages| *pages != Pages::Thp).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let meminfo = Meminfo::read(root)?;
        self.default = meminfo.huge_page_size;
        for pages in asked {
            for size in self.pool_sizes(pages) {
                if self.of_size(size).is_none() {
                    let source =
                        source::read(root, size, &meminfo, (wants.thorough, &self.filter))?;
                    self.sources.extend(source);
                }
            }
        }
        if self.sources.is_empty() {
            self.no_pools = NoPools::find(root);
        }
        Ok(())
    }

    /// Reads the settings of transparent huge pages if the request may use them.
    fn read_thp(&mut self, root: &Root, wants: Wants, caller: &Caller) -> Result<(), FileError> {
        let is_limited = wants.limit.is_some() || self.sources.iter().any(|s| s.limit.is_some());
        let may_use_thp = |pages| match pages {
            Pages::Thp => true,
            _ if wants.fallback != Fallback::Thp => false,
            // The size of segments is unknown here.
            _ if [wants.text, wants.data].contains(&Some(pages)) => true,
            pages => self.source(pages).is_none_or(|s| s.obtainable() < USEFUL),
        };
        if wants.all().any(may_use_thp) || is_limited {
            self.thp = Thp::read_pmd_modes(root, wants.shm.is_some())?;
            if self.thp.is_none() {
                self.thp_hidden = hidden_settings(root);
            }
        }
        if root.is_live() {
            self.thp_disabled = thp_disabled(root, caller)?;
        }
        Ok(())
    }

    fn read_limits(&mut self, root: &Root, wants: Wants, caller: &Caller) -> Result<(), FileError> {
        if wants.heap.is_some() {
            self.overcommit = root.number_opt(&KPath::from(OVERCOMMIT))?;
        }
        if root.is_live() {
            let (soft, _) = getrlimit(Resource::RLIMIT_AS).unwrap_or((libc::RLIM_INFINITY, 0));
            self.address_space = (soft != libc::RLIM_INFINITY).then_some(Bytes::new(soft));
        }
        let is_pool = wants.shm.is_some_and(|pages| pages != Pages::Thp);
        if wants.thorough && is_pool && root.is_live() {
            self.shm_group = group::read(root, caller)?;
        }
        if wants.thorough && self.thp.is_some() {
            let membership = KPath::from("/proc/self/cgroup");
            self.memory = cgroup::tightest_memory(root, &membership)?;
        }
        Ok(())
    }
}

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force even for memory with `MADV_HUGEPAGE`.
fn thp_disabled(root: &Root, caller: &Caller) -> Result<bool, FileError> {
    if !nix::sys::prctl::get_thp_disable().unwrap_or(false) {
        return Ok(false);
    }
    let Some(pid) = Pid::new(caller.pid) else {
        return Ok(false);
    };
    let enabled = process::thp_enabled(root, pid)?;
    Ok(!enabled.unwrap_or(false))
}

#[cfg(test)]
pub(crate) mod tests;

//! What preflight needs to know of the kernel: read once, and no file more
//! than the request calls for, because every program waits for it.

pub(crate) mod group;
mod hidden;
pub(crate) mod namespace;
pub(crate) mod shm_limits;
mod source;

pub use group::{MayLock, STATUS};
pub use hidden::{Hidden, NoPools, SETTINGS, hidden_settings, to_see};
pub use source::{Share, Source};

use hugetools_contract::env::{Fallback, Pages, Require};
use hugetools_model::hugetlb::pool;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::cgroup::{self, Limit};
use hugetools_model::process::{self, Pid};
use hugetools_model::thp::Thp;
use hugetools_model::{Bytes, FileError, KPath, PageSize, Root};
use nix::sys::resource::{Resource, getrlimit};

use crate::caller::Caller;
use crate::caller::filter::{Answer, Filter};
use crate::say::failure::Failure;
use crate::say::subject::Subject;
use shm_limits::ShmLimits;

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
        true => format!("{option}={size}: {}", NoPools::find(root)),
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
    /// The pages of private mappings of the program's own; served, they are transparent
    /// huge pages always.
    pub anon: Option<Pages>,
    /// Those of stacks, likewise.
    pub stack: Option<Pages>,
    /// The text's pages.
    pub text: Option<Pages>,
    /// The pages of data and bss.
    pub data: Option<Pages>,
    /// What follows when huge pages run out.
    pub fallback: Fallback,
    /// What must be on huge pages.
    pub require: Require,
    /// Whether hints that are no shortfall are wanted, too.
    pub hints: bool,
    /// Whether the program has memory that is not taken from malloc, past the heap.
    pub past_malloc: bool,
    /// Whether everything is looked at, whatever it costs: nothing starts.
    pub thorough: bool,
}

impl Wants {
    /// Whether anything is asked for.
    pub fn are_any(&self) -> bool {
        self.all().next().is_some()
    }

    fn all(&self) -> impl Iterator<Item = Pages> {
        let anon = self.anon.map(|_| Pages::Thp);
        let stack = self.stack.map(|_| Pages::Thp);
        let all = [self.heap, self.shm, anon, stack, self.text, self.data];
        all.into_iter().flatten()
    }
}

/// The state of the kernel, as far as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kernel {
    /// The default huge page size.
    pub default: Option<PageSize>,
    /// The pools of the sizes that are asked for.
    pub sources: Vec<Source>,
    /// Why there are no pools, where none was found.
    pub no_pools: Option<NoPools>,
    /// Transparent huge pages, where they are what the request may come to.
    pub thp: Option<Thp>,
    /// Whether nothing can be seen of them, where they are looked for.
    pub thp_hidden: Option<Hidden>,
    /// Whether this process may have no transparent huge pages at all.
    pub thp_disabled: bool,
    /// Whether the program turns them off for itself, as far as programs are known, and
    /// everything is looked at: what it takes by itself gets none then.
    pub thp_banned: bool,
    /// Filters of system calls.
    pub filter: Filter,
    /// `vm.overcommit_memory`.
    pub overcommit: Option<u64>,
    /// The limit of the address space (`ulimit -v`).
    pub address_space: Option<Bytes>,
    /// Whether the caller may have System V segments of pool pages.
    pub may_lock: MayLock,
    /// The limits of System V segments, where everything is looked at.
    pub shm_limits: ShmLimits,
    /// The tightest limit of the memory control groups, where everything is
    /// looked at.
    pub memory: Option<Limit>,
    /// The tightest limit of the hugetlb control groups on pages of the default size, where
    /// everything is looked at: it holds for what the program requests by itself.
    pub own_requests: Option<Limit>,
    /// Whether what the process's control groups allow cannot be seen, where everything
    /// is looked at.
    pub groups_hidden: bool,
}

impl Kernel {
    /// Reads the state.
    ///
    /// # Errors
    /// When a file that exists cannot be read or makes no sense.
    pub fn read(root: &Root, wants: Wants, caller: &Caller) -> Result<Kernel, FileError> {
        let mut kernel = Kernel {
            filter: caller.filter,
            ..Kernel::default()
        };
        if wants.are_any() {
            kernel.read_pools(root, wants)?;
            kernel.read_others(root, wants, caller)?;
        } else {
            // What was asked for may be impossible because no size can be seen.
            let hidden = Some(NoPools::find(root));
            kernel.no_pools = hidden.filter(|none| *none != NoPools::Absent);
        }
        Ok(kernel)
    }

    /// The pool that pages of this kind come from.
    pub fn source(&self, pages: Pages) -> Option<&Source> {
        self.of_size(self.size(pages)?)
    }

    /// The page size that is meant.
    pub fn size(&self, pages: Pages) -> Option<PageSize> {
        match pages {
            Pages::Default => self.default,
            Pages::Size(bytes) => PageSize::new(bytes),
            Pages::Thp => None,
        }
    }

    /// The pools that pages of this kind come from, in this order: what the one
    /// that is asked for has not, that of the default size gives, where it is
    /// smaller.
    pub fn ladder(&self, pages: Pages) -> impl Iterator<Item = PageSize> + use<> {
        let asked = self.size(pages);
        let second = self
            .default
            .filter(|size| asked.is_some_and(|asked| *size < asked));
        asked.into_iter().chain(second)
    }

    /// The pool that gives what the one that is asked for has not.
    pub fn second(&self, pages: Pages) -> Option<&Source> {
        let size = self.ladder(pages).nth(1)?;
        let source = self.of_size(size)?;
        (source.obtainable() >= Bytes::new(size.get())).then_some(source)
    }

    /// What would tell of the sizes of huge pages, and is not there.
    pub fn hides_sizes(&self) -> Option<Hidden> {
        match self.no_pools {
            Some(NoPools::Hidden(hidden)) => Some(hidden),
            _ => self.thp_hidden,
        }
    }

    /// The pool of a size.
    pub fn of_size(&self, size: PageSize) -> Option<&Source> {
        self.sources.iter().find(|source| source.pool.size == size)
    }

    /// Whether the memory control group leaves room for so much on transparent
    /// huge pages: the library stops to ask for them at half of what is left.
    pub fn has_room(&self, bytes: Bytes) -> bool {
        let has_rest = |limit: &Limit| {
            limit
                .rest()
                .is_some_and(|rest| rest.get() / 2 >= bytes.get())
        };
        self.memory.as_ref().is_none_or(has_rest)
    }

    /// Whether private memory can have transparent huge pages.
    pub fn serves_private(&self) -> bool {
        self.serves(Thp::serves_whole) && !self.bars_private()
    }

    /// Whether a filter of system calls keeps private memory from transparent huge pages:
    /// it cannot ask for them, and does not have them unasked.
    pub fn bars_private(&self) -> bool {
        let mode = self.thp.as_ref().and_then(|thp| thp.enabled.as_deref());
        self.filter.madvise != Answer::Allowed && mode != Some("always")
    }

    /// The same of shared memory.
    pub fn bars_shared(&self) -> bool {
        self.filter.madvise != Answer::Allowed
    }

    /// Whether a filter of system calls keeps copies of this from their places.
    pub(crate) fn bars_copies(&self, subject: Subject) -> bool {
        let bars_text = subject.text && self.filter.mprotect != Answer::Allowed;
        bars_text || self.filter.mremap != Answer::Allowed
    }

    /// Whether shared memory can have transparent huge pages.
    pub fn serves_shared(&self) -> bool {
        self.serves(Thp::serves_shared_madvise) && !self.bars_shared()
    }

    /// What cannot be seen is tried.
    fn serves(&self, how: impl Fn(&Thp) -> bool) -> bool {
        (self.thp_hidden.is_some() || self.thp.as_ref().is_some_and(how)) && !self.thp_disabled
    }

    /// Whether transparent huge pages are what a request comes to, for which so
    /// many bytes of a pool are `enough`.
    pub fn comes_to_thp(&self, pages: Pages, enough: Bytes, fallback: Fallback) -> bool {
        match (pages, fallback) {
            (Pages::Thp, _) => true,
            (_, Fallback::Thp) => {
                let source = self.source(pages);
                source.is_none_or(|source| source.obtainable() < enough)
            }
            _ => false,
        }
    }

    fn read_pools(&mut self, root: &Root, wants: Wants) -> Result<(), FileError> {
        let asked: Vec<_> = wants.all().filter(|pages| *pages != Pages::Thp).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let meminfo = Meminfo::read(root)?;
        self.default = meminfo.huge_page_size;
        for pages in asked {
            for size in self.ladder(pages) {
                if self.of_size(size).is_none() {
                    let source =
                        source::read(root, size, &meminfo, (wants.thorough, &self.filter))?;
                    self.sources.extend(source);
                }
            }
        }
        self.no_pools = self.sources.is_empty().then(|| NoPools::find(root));
        Ok(())
    }

    fn read_others(&mut self, root: &Root, wants: Wants, caller: &Caller) -> Result<(), FileError> {
        // How much segments take is not known here.
        let enough = |pages| match [wants.text, wants.data].contains(&Some(pages)) {
            true => Bytes::new(u64::MAX),
            false => USEFUL,
        };
        let comes = |pages| self.comes_to_thp(pages, enough(pages), wants.fallback);
        let limited = self.sources.iter().any(|source| source.limit.is_some());
        if wants.all().any(comes) || limited {
            self.thp = Thp::read_whole(root, wants.shm.is_some())?;
            self.thp_hidden = hidden_settings(root);
        }
        if wants.heap.is_some() {
            self.overcommit = root.number_opt(&KPath::from(OVERCOMMIT))?;
        }
        if root.is_live() {
            let (soft, _) = getrlimit(Resource::RLIMIT_AS).unwrap_or((libc::RLIM_INFINITY, 0));
            self.address_space = (soft != libc::RLIM_INFINITY).then_some(Bytes::new(soft));
            self.thp_disabled = thp_disabled(root, caller)?;
        }
        let from_pool = wants.shm.is_some_and(|pages| pages != Pages::Thp);
        if wants.hints && from_pool && root.is_live() {
            self.may_lock = group::may_lock(root, caller)?;
        }
        if wants.thorough && wants.shm.is_some() {
            self.shm_limits = ShmLimits::read(root, &Meminfo::read(root)?)?;
        }
        let membership = KPath::from("/proc/self/cgroup");
        if wants.thorough && self.thp.is_some() {
            self.memory = cgroup::tightest_memory(root, &membership)?;
        }
        if wants.thorough && (wants.shm.is_some() || wants.anon.is_some()) {
            let size = match self.default {
                None => Meminfo::read(root)?.huge_page_size,
                known => known,
            };
            if let Some(size) = size {
                self.own_requests = cgroup::tightest(root, &membership, size)?;
            }
        }
        if wants.thorough && wants.are_any() {
            self.groups_hidden = cgroup::are_hidden(root, &membership)?;
        }
        Ok(())
    }
}

/// The file of `vm.overcommit_memory`.
pub const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force, for advised memory, too.
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
mod tests;

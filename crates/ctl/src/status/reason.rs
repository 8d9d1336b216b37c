//! Why a process has memory on base pages, as far as another process can know.

use hugetools_contract::env::{Fallback, Pages, Settings};
use hugetools_contract::report::{base, reasons};
use hugetools_contract::segment::{Row, Segment};
use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::cgroup::{self, Limit};
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::Record;
use hugetools_model::thp::Thp;
use hugetools_model::{Bytes, FileError, PageSize, Root};

use crate::probe::kernel::{NoPools, hidden_settings};

/// The reason for a requested segment without any huge page.
const NOT_MOVED: &str = "neither mapped from huge pages of its file nor copied to huge pages; \
                         hugectl -v says why at the program's start";

/// The reason for each kind of memory, if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reasons {
    /// Whether the environment, and so the request, is known.
    is_known: bool,
    is_heap_asked: bool,
    /// Whether transparent huge pages are the fallback. Then an empty pool doesn't explain memory
    /// without any huge page.
    thp_follows: bool,
    heap: Option<String>,
    shm: Option<String>,
    anon: Option<String>,
    /// For the main thread's stack.
    stack: Option<String>,
    /// For the program's text, if none of it is huge.
    text: Option<String>,
    /// For the program's data and bss, if none of it is huge.
    data: Option<String>,
    /// For the text of libraries.
    libraries: Option<String>,
}

impl Reasons {
    /// Returns the reason for a row, if known. `None` if less than a huge page, or less than a
    /// twentieth of the row, is on base pages.
    pub(super) fn of(&self, row: &Row<'_>, exe: &[u8], pmd_size: u64) -> Option<String> {
        let (resident, huge) = (row.resident, row.huge_bytes());
        let rest = resident.saturating_sub(huge);
        if rest < pmd_size || rest < resident / 20 {
            return None;
        }
        let is_exe = row.object == Some(exe);
        // A segment with any huge page has as many as fit, whether they come from a request, from
        // marks in the file, or from the page cache.
        let of_file = |why: &'_ Option<String>| match why {
            Some(why) if huge == 0 => Some(why.clone()),
            None if huge == 0 && self.is_known => Some(NOT_MOVED.to_owned()),
            _ => self.is_known.then(|| reasons::EDGES.to_owned()),
        };
        match row.segment {
            Segment::Text if is_exe => of_file(&self.text),
            Segment::Text => self.libraries.clone(),
            Segment::Data | Segment::Bss if is_exe => of_file(&self.data),
            Segment::Heap => self.of_heap(resident, huge),
            Segment::Shm => self.shm.clone(),
            Segment::Anon => self.anon.clone(),
            Segment::Stack => self.stack.clone(),
            _ => None,
        }
    }

    fn of_heap(&self, resident: u64, huge: u64) -> Option<String> {
        let is_short = self.is_heap_asked && (huge == 0 || huge < resident / 100 * 99);
        let head = || reasons::of_head(resident.saturating_sub(huge), huge);
        let head = || head().filter(|_| is_short).map(str::to_owned);
        match self.thp_follows && huge == 0 {
            true => head().or_else(|| self.heap.clone()),
            false => self.heap.clone().or_else(head),
        }
    }

    /// Finds the reasons in the environment, the mappings, the pools and the THP settings.
    pub(super) fn find(
        root: &Root,
        pid: Pid,
        exe: &[u8],
        mappings: &[Record<'_>],
        thp_settings: Option<&Thp>,
    ) -> Result<Reasons, FileError> {
        let enabled = process::thp_enabled(root, pid).unwrap_or(None) != Some(false);
        let hidden = hidden_settings(root)
            .map(|hidden| format!("{hidden}, so the settings of huge pages are unknown"));
        let private = hidden
            .clone()
            .or_else(|| private_thp(thp_settings, enabled));
        let environ = process::read_environ(root, pid).ok();
        let Some(environ) = environ.filter(|environ| process::is_whole(environ)) else {
            return Ok(Reasons {
                anon: private,
                ..Reasons::default()
            });
        };
        let variable = |name: &str| process::variable(&environ, name);
        let asked = Settings::read(variable, base(exe), pid.get());
        let mut variables = environ.split(|byte| *byte == 0);
        let has_variables = variables.any(|variable| variable.starts_with(b"HUGETLB_"));
        let no_library = (has_variables && !mappings.iter().any(super::is_library))
            .then(|| no_library(process::is_secure(root, pid) == Some(true)));
        let find = |pages: Option<Pages>, option: &str, thp: &Option<String>, whole: u64| {
            let Some(pages) = pages else {
                return Ok(Some(not_asked(option, has_variables)));
            };
            let is_ruled_out = (pages, asked.fallback) == (Pages::Thp, Fallback::Base);
            let ruled_out = is_ruled_out.then(|| reasons::RULED_OUT.to_owned());
            match no_library.clone().or(ruled_out) {
                None => Ok(joined(shortage(root, pid, pages, whole)?, thp.clone())),
                why => Ok(why),
            }
        };
        let thp_follows =
            no_library.is_none() && private.is_none() && asked.fallback == Fallback::Thp;
        let of_file = |pages: Option<Pages>, option: &str| match thp_follows && pages.is_some() {
            true => Ok(None),
            false => find(pages, option, &private, 0),
        };
        let thp = |is_asked: bool, left_alone: &str| match is_asked {
            true => Ok(find(Some(Pages::Thp), "", &private, 0)?.or(Some(left_alone.to_owned()))),
            false => Ok(None),
        };
        let shared = hidden.or_else(|| shared_thp(thp_settings, enabled));
        let shm_left_alone = || Some(reasons::SHM_LEFT_ALONE.to_owned());
        let segment = largest_base_segment(mappings);
        let its_own = || Some(reasons::ITS_OWN.to_owned());
        let outside_heap = || asked.heap.and_then(|_| no_library.clone().or_else(its_own));
        let anon = thp(asked.anon.is_some(), reasons::ANON_LEFT_ALONE)?;
        Ok(Reasons {
            is_known: true,
            is_heap_asked: asked.heap.is_some(),
            thp_follows,
            heap: find(asked.heap, "--heap", &private, 0)?,
            shm: find(asked.shm, "--shm", &shared, segment)?.or_else(shm_left_alone),
            text: of_file(asked.elfmap.text, "--text")?,
            data: of_file(asked.elfmap.data, "--data")?,
            libraries: (!asked.text_libs).then(|| not_asked("--text-libs", has_variables)),
            stack: thp(asked.stack.is_some(), reasons::STACK_LEFT_ALONE)?,
            anon: anon.or_else(|| private.clone()).or_else(outside_heap),
        })
    }
}

fn not_asked(option: &str, has_variables: bool) -> String {
    match has_variables {
        true => format!("not requested, see hugectl {option}"),
        false => format!(
            "not requested in its environment (hugectl {option}), or its starter dropped the \
             environment"
        ),
    }
}

/// Why a process lacks the library although its environment asks for it.
fn no_library(is_secure: bool) -> String {
    let why = match is_secure {
        true => {
            "exec raised its privileges (AT_SECURE: a set-user-id file, or different real and \
             effective users), so its loader ignores LD_PRELOAD; hugectl --pid, as root, reaches it"
        }
        false => {
            "its starter dropped LD_PRELOAD, or it is a static program; hugectl --pid reaches it"
        }
    };
    format!("requested, but the library is not loaded: {why}")
}

fn joined(pool: Option<String>, thp: Option<String>) -> Option<String> {
    match (pool, thp) {
        (Some(pool), Some(thp)) => Some(format!("{pool}; {thp}")),
        (pool, thp) => pool.or(thp),
    }
}

fn private_thp(thp: Option<&Thp>, enabled: bool) -> Option<String> {
    match thp {
        None => Some("the kernel has no transparent huge pages".to_owned()),
        Some(thp) if !thp.serves_madvise() => Some(setting("transparent huge pages", &thp.enabled)),
        Some(_) if !enabled => {
            Some("transparent huge pages are switched off for the process".to_owned())
        }
        Some(thp) if thp.is_pmd_size_never() => {
            let size = thp.pmd_size?;
            Some(format!("transparent huge pages of {size} are set to never"))
        }
        Some(_) => None,
    }
}

fn shared_thp(thp: Option<&Thp>, enabled: bool) -> Option<String> {
    match thp {
        Some(thp) if !thp.serves_shared_madvise() => Some(setting(
            "transparent huge pages for shared memory",
            &thp.shmem_enabled,
        )),
        Some(_) if enabled => None,
        other => private_thp(other, enabled),
    }
}

fn setting(what: &str, word: &Option<String>) -> String {
    format!("{what} are set to {}", word.as_deref().unwrap_or("never"))
}

/// Returns the bytes of the largest shared anonymous mapping on base pages. It goes on a pool whole
/// or not at all.
fn largest_base_segment(mappings: &[Record<'_>]) -> u64 {
    let is_segment = |it: &&Record<'_>| {
        let is_named = |name: &[u8]| it.name.starts_with(name);
        it.shared && !it.has_flag(b"ht") && (is_named(b"/dev/zero") || is_named(b"/SYSV"))
    };
    let segments = mappings.iter().filter(is_segment);
    segments.map(Record::mapped).max().unwrap_or(0)
}

/// Returns why the process gets no more pages from the pool; `None` if it gets more or needs none.
/// `whole` bytes go on the pool together.
fn shortage(root: &Root, pid: Pid, pages: Pages, whole: u64) -> Result<Option<String>, FileError> {
    let meminfo = Meminfo::read(root)?;
    let size = match pages {
        Pages::Thp => return Ok(None),
        Pages::Default => meminfo.huge_page_size,
        Pages::Size(bytes) => PageSize::new(bytes),
    };
    let Some(size) = size else {
        return Ok(Some(NoPools::find(root).to_string()));
    };
    let Some(pool) = pool::read_size(root, size, &meminfo)? else {
        return Ok(Some(format!("the machine has no {size} pages")));
    };
    let limit = cgroup::tightest_hugetlb(root, &pid.path("cgroup"), size)?;
    Ok(limit
        .as_ref()
        .and_then(used_up)
        .or_else(|| empty(&pool, whole)))
}

fn used_up(limit: &Limit) -> Option<String> {
    (limit.unused() == Some(Bytes::default())).then(|| format!("{} is used up", limit.file))
}

fn empty(pool: &Pool, whole: u64) -> Option<String> {
    let size = pool.size;
    let needed = whole.div_ceil(size.get());
    match (pool.total.get(), pool.available().get()) {
        (0, _) => Some(format!("the pool of {size} pages is empty")),
        (_, 0) => Some(format!("the pool of {size} pages has no page left")),
        (_, free) if free < needed => Some(format!(
            "the pool of {size} pages has {free} free, {needed} are needed"
        )),
        _ => None,
    }
}

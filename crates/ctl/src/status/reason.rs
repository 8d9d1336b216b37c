//! Why a process has memory on base pages, as far as other processes can tell.

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

/// The reason for each kind of memory, if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reasons {
    heap: Option<String>,
    /// Whether the environment asks for the heap.
    is_heap_asked: bool,
    shm: Option<String>,
    anon: Option<String>,
    /// For the main thread's stack.
    stack: Option<String>,
    /// For the program's text.
    text: Wanted,
    /// For the program's data and bss.
    data: Wanted,
    /// For the text of libraries.
    libraries: Option<String>,
}

/// Whether a segment was requested, and why it is on base pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    Unknown,
    No(String),
    Yes(Option<String>),
}

impl Wanted {
    /// The reason for a segment with so many bytes on huge pages.
    fn reason(&self, huge: u64) -> Option<&str> {
        match self {
            Wanted::Unknown => None,
            Wanted::No(why) | Wanted::Yes(Some(why)) if huge == 0 => Some(why),
            // Not requested: marked in the file, or huge in the page cache already.
            Wanted::No(_) | Wanted::Yes(_) => {
                Some("only the whole huge pages in it; ld.hugetlbfs(1) aligns the rest")
            }
        }
    }
}

impl Reasons {
    /// The reason for a row. `None` if less than a huge page or a twentieth of it is on base
    /// pages.
    pub(super) fn of(
        &self,
        row: &Row<'_>,
        rows: &[Row<'_>],
        exe: &[u8],
        pmd_size: u64,
    ) -> Option<String> {
        let rest = row.resident.saturating_sub(row.huge_bytes());
        if rest < pmd_size || rest < row.resident / 20 {
            return None;
        }
        let is_exe = row.object == Some(exe);
        let huge = |segments: &[Segment]| {
            let is_of = |row: &&Row<'_>| segments.contains(&row.segment) && row.object == Some(exe);
            rows.iter().filter(is_of).map(Row::huge_bytes).sum()
        };
        let reason = match row.segment {
            Segment::Text if is_exe => self.text.reason(huge(&[Segment::Text])),
            Segment::Text => self.libraries.as_deref(),
            Segment::Data | Segment::Bss if is_exe => {
                self.data.reason(huge(&[Segment::Data, Segment::Bss]))
            }
            Segment::Heap => self.of_heap(row.resident, row.huge_bytes()),
            Segment::Shm => self.shm.as_deref(),
            Segment::Anon => self.anon.as_deref(),
            Segment::Stack => self.stack.as_deref(),
            _ => None,
        };
        reason.map(str::to_owned)
    }

    fn of_heap(&self, resident: u64, huge: u64) -> Option<&str> {
        let is_short = self.is_heap_asked && (huge == 0 || huge < resident / 100 * 99);
        let head = || reasons::of_head(resident.saturating_sub(huge), huge);
        self.heap.as_deref().or_else(|| head().filter(|_| is_short))
    }

    pub(super) fn find(
        root: &Root,
        pid: Pid,
        exe: &[u8],
        mappings: &[Record<'_>],
        thp: Option<&Thp>,
    ) -> Result<Reasons, FileError> {
        let enabled = process::thp_enabled(root, pid).unwrap_or(None) != Some(false);
        let hidden = hidden_settings(root)
            .map(|hidden| format!("{hidden}, so that what it says of huge pages is not known"));
        let private = hidden.clone().or_else(|| private_thp(thp, enabled));
        // Without the environment the request is unknown.
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
        let not_asked = |option: &str| match has_variables {
            true => format!("not asked for, see hugectl {option}"),
            false => format!(
                "nothing in its environment asks for it: not asked for (hugectl {option}), or what \
                 started it dropped the environment"
            ),
        };
        let is_secure = process::is_secure(root, pid) == Some(true);
        let no_library = (has_variables && !mappings.iter().any(super::is_library))
            .then(|| no_library(is_secure));
        let of_file = |pages: Option<Pages>, option: &str| -> Result<Wanted, FileError> {
            Ok(match pages {
                Some(_) if no_library.is_some() => Wanted::Yes(no_library.clone()),
                Some(pages) => Wanted::Yes(joined(shortage(root, pid, pages)?, private.clone())),
                None => Wanted::No(not_asked(option)),
            })
        };
        let ruled_out = |pages| {
            let is_ruled_out = (pages, asked.fallback) == (Pages::Thp, Fallback::Base);
            is_ruled_out.then(|| reasons::RULED_OUT.to_owned())
        };
        let heap = match asked.heap {
            None => Some(not_asked("--heap")),
            // Tunables reach the malloc of a static program without our library.
            Some(_) if no_library.is_some() && (is_secure || !has_tunables(&environ)) => {
                no_library.clone()
            }
            Some(pages) => match ruled_out(pages) {
                None => joined(shortage(root, pid, pages)?, private.clone()),
                why => why,
            },
        };
        let shm = match asked.shm {
            None => Some(not_asked("--shm")),
            Some(_) if no_library.is_some() => no_library.clone(),
            Some(pages) => {
                let pool = shortage(root, pid, pages)?;
                let thp = hidden.or_else(|| shared_thp(thp, enabled));
                let left = || Some(reasons::SHM_LEFT_ALONE.to_owned());
                ruled_out(pages).or(joined(pool, thp)).or_else(left)
            }
        };
        let of_thp = |left: &str| {
            let why = no_library.clone().or_else(|| ruled_out(Pages::Thp));
            why.or(private.clone()).or(Some(left.to_owned()))
        };
        Ok(Reasons {
            is_heap_asked: asked.heap.is_some(),
            heap,
            shm,
            text: of_file(asked.elfmap.text, "--text")?,
            data: of_file(asked.elfmap.data, "--data")?,
            libraries: (!asked.text_libs).then(|| not_asked("--text-libs")),
            stack: asked.stack.and_then(|_| of_thp(reasons::STACK_LEFT_ALONE)),
            anon: match (asked.anon, asked.heap) {
                (Some(_), _) => of_thp(reasons::ANON_LEFT_ALONE),
                (None, Some(_)) => private.or(Some(reasons::ITS_OWN.to_owned())),
                (None, None) => private,
            },
        })
    }
}

/// Why a process lacks the library although its environment asks for it.
fn no_library(is_secure: bool) -> String {
    let why = match is_secure {
        true => {
            "it was started with rights that are not its user's (AT_SECURE: a set-user-id file, \
             or another effective user), and the loader of such a program takes no library from \
             its environment; hugectl --pid, as root, reaches what runs"
        }
        false => {
            "what started it dropped LD_PRELOAD, or it takes no library, as a static program; \
             hugectl --pid reaches what runs"
        }
    };
    format!("asked for, but the library is not in it: {why}")
}

fn has_tunables(environ: &[u8]) -> bool {
    process::variable(environ, "GLIBC_TUNABLES")
        .is_some_and(|tunables| tunables.windows(7).any(|part| part == b"hugetlb"))
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

/// Why the process gets no more pages from the pool.
fn shortage(root: &Root, pid: Pid, pages: Pages) -> Result<Option<String>, FileError> {
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
    let limit = cgroup::tightest(root, &pid.path("cgroup"), size)?;
    Ok(limit.as_ref().and_then(used_up).or_else(|| empty(&pool)))
}

fn used_up(limit: &Limit) -> Option<String> {
    (limit.rest() == Some(Bytes::default())).then(|| format!("{} is used up", limit.file))
}

fn empty(pool: &Pool) -> Option<String> {
    let size = pool.size;
    match (pool.total.get(), pool.available().get()) {
        (0, _) => Some(format!("the pool of {size} pages is empty")),
        (_, 0) => Some(format!("the pool of {size} pages has no page left")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_heap_is_the_reason_if_one_was_requested() {
        let asked = Reasons {
            is_heap_asked: true,
            ..Reasons::default()
        };
        assert_eq!(asked.of_heap(8 << 20, 0), Some(reasons::SMALL_HEAP));
        assert_eq!(asked.of_heap(18 << 20, 0), Some(reasons::HEAD_OF_HEAP));
        assert_eq!(asked.of_heap(40 << 20, 0), None);
        assert_eq!(Reasons::default().of_heap(8 << 20, 0), None);
    }
}

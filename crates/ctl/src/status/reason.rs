//! Why a process has not more on huge pages, as far as it can be seen from
//! outside.

use hugetools_contract::env::{Fallback, Pages, Settings};
use hugetools_contract::report::reasons;
use hugetools_contract::segment::Row;
use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::cgroup::{self, Limit};
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::Record;
use hugetools_model::thp::Thp;
use hugetools_model::{Bytes, FileError, PageSize, Root};

use super::mappings::Mappings;
use super::shm_group;
use super::whole::Whole;
use crate::probe::kernel::{NoPools, hidden_settings};

/// A reason for each kind of memory, where there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reasons {
    heap: Option<String>,
    /// Whether the heap was asked for, as its environment says.
    is_heap_asked: bool,
    pub(super) shm: Option<String>,
    pub(super) anon: Option<String>,
    /// Of the main thread's stack.
    pub(super) stack: Option<String>,
    /// Of text, data and bss of the program.
    pub(super) text: Wanted,
    pub(super) data: Wanted,
    /// Of the text of libraries.
    pub(super) libraries: Option<String>,
}

/// Whether segments were asked for, and what may keep them from huge pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It cannot be known.
    #[default]
    Unknown,
    /// No: what asks for them.
    Not(String),
    /// Yes.
    Yes(Option<String>),
}

impl Wanted {
    /// The reason for a segment of which so much could be huge.
    pub(super) fn reason(&self, whole: Whole) -> Option<&str> {
        match self {
            Wanted::Unknown => None,
            Wanted::Not(why) if whole.huge == 0 => Some(why),
            Wanted::Yes(_) if whole.possible == 0 && whole.huge == 0 => {
                Some("no whole huge page lies in it")
            }
            Wanted::Yes(Some(why)) if !whole.is_huge() => Some(why),
            // Marked in the file, or huge in the page cache already.
            Wanted::Not(_) | Wanted::Yes(_) => {
                Some("only the whole huge pages in it; ld.hugetlbfs(1) aligns the rest")
            }
        }
    }
}

impl Reasons {
    /// Of a heap that was asked for and is small, or begins so, if nothing else is known.
    pub(super) fn of_heap(&self, row: &Row<'_>) -> Option<&str> {
        let huge = row.huge_bytes();
        let is_short = self.is_heap_asked && (huge == 0 || huge < row.resident / 100 * 99);
        let head = || reasons::of_head(row.resident.saturating_sub(huge), huge);
        self.heap.as_deref().or_else(|| head().filter(|_| is_short))
    }

    pub(super) fn find(
        root: &Root,
        pid: Pid,
        exe: &[u8],
        mappings: &Mappings,
        thp: Option<&Thp>,
    ) -> Result<Reasons, FileError> {
        let enabled = process::thp_enabled(root, pid).unwrap_or(None) != Some(false);
        let hidden = hidden_settings(root)
            .map(|hidden| format!("{hidden}, so that what it says of huge pages is not known"));
        let private = hidden.clone().or_else(|| private_thp(thp, enabled));
        // Without the environment it is not known what was asked for.
        let environ = process::read_environ(root, pid).ok();
        let Some(environ) = environ.filter(|environ| process::is_whole(environ)) else {
            return Ok(Reasons {
                anon: private,
                ..Reasons::default()
            });
        };
        let name = exe.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let asked = Settings::read(|name| process::variable(&environ, name), name, pid.get());
        let shared = hidden.or_else(|| shared_thp(thp, enabled));
        let lost = Lost::find(&environ, mappings);
        let not_asked = |option: &str| match lost {
            Some(Lost::Variables) => format!(
                "nothing in its environment asks for it: not asked for (hugectl {option}), or what \
                 started it dropped the environment"
            ),
            _ => format!("not asked for, see hugectl {option}"),
        };
        let is_secure = process::is_secure(root, pid) == Some(true);
        let without_library =
            matches!(lost, Some(Lost::Library)).then(|| without_library(is_secure));
        let wanted = |pages: Option<Pages>, option: &str| -> Result<Wanted, FileError> {
            Ok(match pages {
                Some(_) if without_library.is_some() => Wanted::Yes(without_library.clone()),
                Some(pages) => Wanted::Yes(joined(shortage(root, pid, pages)?, private.clone())),
                None => Wanted::Not(not_asked(option)),
            })
        };
        Ok(Reasons {
            is_heap_asked: asked.heap.is_some(),
            heap: match asked.heap {
                None => Some(not_asked("--heap")),
                // The program's own glibc may have been told.
                Some(_) if without_library.is_some() && (is_secure || !has_tunables(&environ)) => {
                    without_library.clone()
                }
                Some(pages) => ruled_out(pages, asked.fallback)
                    .or(joined(shortage(root, pid, pages)?, private.clone())),
            },
            shm: match asked.shm {
                None => Some(not_asked("--shm")),
                Some(_) if without_library.is_some() => without_library.clone(),
                Some(pages) => ruled_out(pages, asked.fallback)
                    .or(joined(shared_shortage(root, pid, pages, mappings)?, shared))
                    .or_else(|| Some(reasons::SHM_LEFT_ALONE.to_owned())),
            },
            text: wanted(asked.elfmap.text, "--text")?,
            data: wanted(asked.elfmap.data, "--data")?,
            libraries: (!asked.text_libs).then(|| not_asked("--text-libs")),
            stack: stack(&asked, private.as_ref(), without_library.as_ref()),
            anon: anon(&asked, private, without_library),
        })
    }
}

/// Why the library is not in a process that was to have it.
fn without_library(is_secure: bool) -> String {
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

/// Of private memory that the program has mapped by itself.
fn anon(
    asked: &Settings<'_>,
    private: Option<String>,
    without_library: Option<String>,
) -> Option<String> {
    let rest = match (asked.anon, asked.heap) {
        (Some(_), _) => Some(reasons::ANON_LEFT_ALONE.to_owned()),
        (None, heap) => heap.map(|_| reasons::ITS_OWN.to_owned()),
    };
    let without_library = without_library.filter(|_| asked.anon.is_some());
    let ruled_out = || ruled_out(asked.anon.map(|_| Pages::Thp)?, asked.fallback);
    without_library.or_else(ruled_out).or(private).or(rest)
}

/// Of the main thread's stack, where it was asked for.
fn stack(
    asked: &Settings<'_>,
    private: Option<&String>,
    without_library: Option<&String>,
) -> Option<String> {
    asked.stack?;
    let ruled_out = ruled_out(Pages::Thp, asked.fallback);
    let of_kernel = without_library.cloned().or(ruled_out).or(private.cloned());
    of_kernel.or_else(|| Some(reasons::STACK_LEFT_ALONE.to_owned()))
}

/// What was lost between hugectl and the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// All variables, or hugectl never had to do with it.
    Variables,
    /// The library, which the variables are for.
    Library,
}

impl Lost {
    fn find(environ: &[u8], mappings: &Mappings) -> Option<Lost> {
        let mut variables = environ.split(|byte| *byte == 0);
        if !variables.any(|variable| variable.starts_with(b"HUGETLB_")) {
            return Some(Lost::Variables);
        }
        (!has_library(mappings)).then_some(Lost::Library)
    }
}

/// Whether one of our libraries is in a process.
pub(super) fn has_library(mappings: &Mappings) -> bool {
    let ours = |record: &Record<'_>| {
        let file = record.name.rsplit(|byte| *byte == b'/').next();
        file.is_some_and(|file| file.starts_with(b"libhugetlbfs"))
    };
    mappings.records().any(|record| ours(&record))
}

fn has_tunables(environ: &[u8]) -> bool {
    process::variable(environ, "GLIBC_TUNABLES")
        .is_some_and(|tunables| tunables.windows(7).any(|part| part == b"hugetlb"))
}

fn ruled_out(pages: Pages, fallback: Fallback) -> Option<String> {
    let is_ruled_out = (pages, fallback) == (Pages::Thp, Fallback::Base);
    is_ruled_out.then(|| reasons::RULED_OUT.to_owned())
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

/// Why the pool has nothing more for the process.
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

/// The same of shared memory, to which not each user has a right.
fn shared_shortage(
    root: &Root,
    pid: Pid,
    pages: Pages,
    mappings: &Mappings,
) -> Result<Option<String>, FileError> {
    match shortage(root, pid, pages)? {
        None if pages != Pages::Thp => shm_group::reason(root, pid, mappings),
        short => Ok(short),
    }
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

    fn thp(enabled: &str, shmem: &str) -> Thp {
        Thp {
            enabled: Some(enabled.to_owned()),
            defrag: None,
            shmem_enabled: Some(shmem.to_owned()),
            pmd_size: None,
            sizes: Vec::new(),
        }
    }

    #[test]
    fn transparent_huge_pages_of_both_kinds() {
        let off = thp("never", "deny");
        let on = thp("madvise", "advise");
        assert_eq!(private_thp(Some(&on), true), None);
        assert_eq!(shared_thp(Some(&on), true), None);
        assert!(
            private_thp(Some(&on), false)
                .unwrap()
                .contains("switched off")
        );
        assert!(
            shared_thp(Some(&on), false)
                .unwrap()
                .contains("switched off")
        );
        assert!(
            private_thp(Some(&off), true)
                .unwrap()
                .ends_with("are set to never")
        );
        assert!(
            shared_thp(Some(&off), true)
                .unwrap()
                .ends_with("for shared memory are set to deny")
        );
        assert!(
            shared_thp(None, true)
                .unwrap()
                .contains("has no transparent huge pages")
        );
    }

    #[test]
    fn a_small_heap_is_the_reason_where_one_was_asked_for() {
        let row = |resident| Row {
            resident,
            ..Row::EMPTY
        };
        let asked = Reasons {
            is_heap_asked: true,
            ..Reasons::default()
        };
        assert_eq!(asked.of_heap(&row(8 << 20)), Some(reasons::SMALL_HEAP));
        assert_eq!(asked.of_heap(&row(18 << 20)), Some(reasons::HEAD_OF_HEAP));
        assert_eq!(asked.of_heap(&row(40 << 20)), None);
        assert_eq!(Reasons::default().of_heap(&row(8 << 20)), None);
    }

    #[test]
    fn two_reasons_are_joined() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(joined(text("a"), text("b")), text("a; b"));
        assert_eq!(joined(None, text("b")), text("b"));
        assert_eq!(joined(None, None), None);
    }
}

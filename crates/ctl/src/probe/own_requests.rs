//! `--explain`: limits on the huge pages that the program requests by itself.

use std::ffi::{OsStr, OsString};

use hugetools_contract::env::Pages;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::{sysctl, zone};
use hugetools_model::process::cgroup;
use hugetools_model::units::size::Quantity;
use hugetools_model::{Bytes, FileError, KPath, PageSize, Root};

use crate::caller::Caller;
use crate::probe::command_line::known_programs::KnownProgram;
use crate::probe::kernel::{Kernel, USEFUL, Wants};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// The file of `kernel.shmall`, in base pages.
const SHMALL: &str = "/proc/sys/kernel/shmall";

/// The kernel's value of `shmmax` and `shmall` at boot.
const UNLIMITED: u64 = u64::MAX - (1 << 24);

pub(super) struct Scene<'a> {
    pub(super) root: &'a Root,
    pub(super) caller: &'a Caller,
    pub(super) command: &'a [OsString],
    pub(super) known: Option<&'static KnownProgram>,
    pub(super) served: Wants,
    pub(super) kernel: &'a Kernel,
}

impl Scene<'_> {
    pub(super) fn notes(&self) -> Result<Vec<Note>, FileError> {
        if !self.served.thorough {
            return Ok(Vec::new());
        }
        let meminfo = Meminfo::read(self.root)?;
        let mut notes = Vec::new();
        if self.served.shm.is_some() || self.served.anon.is_some() {
            let size = meminfo.huge_page_size;
            let limit = size.map(|size| self.group_limit(size)).transpose()?;
            notes.extend(limit.flatten());
        }
        if let Some(pages) = self.served.shm {
            notes.extend(self.segment_limits(pages, &meminfo)?);
        }
        notes.extend(self.java_heap(&meminfo)?);
        Ok(notes)
    }

    /// Returns a note if a control group limits the huge pages that the program maps.
    fn group_limit(&self, size: PageSize) -> Result<Option<Note>, FileError> {
        let membership = KPath::from("/proc/self/cgroup");
        let limit = cgroup::tightest(self.root, &membership, size)?;
        Ok(limit.map(|limit| {
            let rest = match limit.rest() {
                Some(rest) => format!("the {rest} that the control group leaves"),
                None => "what the control group leaves".to_owned(),
            };
            Note::info(format!(
                "a request of the program's own for huge pages (MAP_HUGETLB, SHM_HUGETLB) beyond \
                 {rest} fails with ENOMEM ({})",
                limit.file
            ))
        }))
    }

    /// Returns notes on `kernel.shmmax` and `kernel.shmall`. Beyond them `shmget` fails, however
    /// many pages the pool has.
    fn segment_limits(&self, pages: Pages, meminfo: &Meminfo) -> Result<Vec<Note>, FileError> {
        let source = self.kernel.source(pages);
        let served = source.map_or(Bytes::default(), |source| source.available());
        let enough = served.max(USEFUL).get();
        let note = |name: &str, fact: String, then: &str, value: u64| {
            let short = Shortfall::new(Subject::SHM, fact)
                .consequence(format!("should the program use shmget, {then}"))
                .source(format!("/proc/sys/kernel/{name}"), value)
                .mend("to lift it", format!("sysctl kernel.{name}={UNLIMITED}"));
            Note::short(Level::Info, short)
        };
        let mut notes = Vec::new();
        let largest = self.root.number_opt(&sysctl::shmmax_path())?;
        if let Some(largest) = largest.filter(|largest| *largest < enough) {
            let fact = format!("kernel.shmmax is {largest} bytes");
            let then = "a larger segment fails (EINVAL)";
            notes.push(note("shmmax", fact, then, largest));
        }
        let all = self.root.number_opt(&KPath::from(SHMALL))?;
        let base = zone::base_page_size(self.root, meminfo.total, &[])?;
        if let (Some(all), Some(base)) = (all, base) {
            let left = self.shmall_left(all, base.get())?;
            if left.get() < enough {
                let fact = format!("kernel.shmall leaves {left} for segments");
                let then = "a segment of more fails (ENOSPC)";
                notes.push(note("shmall", fact, then, all));
            }
        }
        Ok(notes)
    }

    /// Returns the bytes that existing segments, in whole base pages, leave of `pages`.
    fn shmall_left(&self, pages: u64, base: u64) -> Result<Bytes, FileError> {
        let table = self.root.read_opt(&KPath::from("/proc/sysvipc/shm"))?;
        let table = String::from_utf8_lossy(table.as_deref().unwrap_or_default()).into_owned();
        let size = |line: &str| line.split_ascii_whitespace().nth(3)?.parse::<u64>().ok();
        let used = table.lines().filter_map(size);
        let used = used.fold(0, |sum: u64, size| sum.saturating_add(size.div_ceil(base)));
        Ok(Bytes::new(pages.saturating_sub(used).saturating_mul(base)))
    }

    /// Returns a shortfall if the default pool has less left than the Java heap needs. Java
    /// takes its whole heap from the pool at the start, or nothing.
    fn java_heap(&self, meminfo: &Meminfo) -> Result<Option<Note>, FileError> {
        let Some((bytes, word)) = self.java_heap_size() else {
            return Ok(None);
        };
        let Some(source) = self.kernel.default_source(self.root, meminfo)? else {
            return Ok(None);
        };
        let (available, size) = (source.available(), source.pool.size);
        if available >= bytes {
            return Ok(None);
        }
        let fact = format!(
            "Java takes {bytes} of {size} pages at its start ({word}), and the pool has \
             {available} left"
        );
        let place = match self.served.anon.is_some() && self.kernel.serves_private() {
            true => "transparent huge pages",
            false => "base pages",
        };
        let then = format!("Java gets none of these pages, and its heap goes to {place}");
        let short = Shortfall::new(Subject::HEAP | Subject::ANON, fact).consequence(then);
        let missing = bytes.get().saturating_sub(available.get());
        let short = source.remedy(short, missing.div_ceil(size.get()));
        Ok(Some(Note::short(Level::Warning, short)))
    }

    /// Returns the size of a Java heap on pool pages, and its argument. The last argument counts.
    fn java_heap_size(&self) -> Option<(Bytes, String)> {
        self.known.filter(|known| known.name == "Java")?;
        let variable = self.caller.var("JAVA_TOOL_OPTIONS").unwrap_or_default();
        let words = std::iter::once(variable).chain(self.command.iter().map(OsString::as_os_str));
        let text: Vec<String> = words.map(OsStr::to_string_lossy).map(Into::into).collect();
        let words: Vec<&str> = text
            .iter()
            .flat_map(|text| text.split_whitespace())
            .collect();
        let size = |word: &&str| {
            let options = ["-Xmx", "-XX:MaxHeapSize="];
            let value = options
                .iter()
                .find_map(|option| word.strip_prefix(option))?;
            let bytes = value.parse::<Quantity>().ok()?.bytes().ok()?;
            Some((bytes, (*word).to_owned()))
        };
        let is_on = words.contains(&"-XX:+UseLargePages");
        words.iter().rev().find_map(size).filter(|_| is_on)
    }
}

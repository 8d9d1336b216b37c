//! The environment protocol. The classic names and values stay as they were;
//! what is new is marked so.
//!
//! | variable | value | effect |
//! |---|---|---|
//! | `HUGETLB_VERBOSE` | 0 to 99 | 1 errors, 2 warnings (default), 3 information, 4 all |
//! | `HUGETLB_DEBUG` | any | as verbosity 4 |
//! | `HUGETLB_MESSAGES` | new: a file, a descriptor, or `FD:DEVICE:INODE:FILE` | where messages go instead of standard error |
//! | `HUGETLB_RESTRICT_EXE` | `name[:name…]` | programs of other names ignore what follows |
//! | `HUGETLB_NO_INHERIT` | new: a process, or 0 | other processes ignore what follows |
//! | `HUGETLB_MORECORE` | `yes`, a size, `thp`, `no` | the heap on huge pages |
//! | `HUGETLB_MORECORE_HEAPBASE` | a hexadecimal address | where the heap begins, within its area |
//! | `HUGETLB_MORECORE_SHRINK` | `yes` | what the heap frees goes back at once |
//! | `HUGETLB_SHM` | `yes`; new: a size, `thp` | shared memory on huge pages |
//! | `HUGETLB_ELFMAP` | `no`, or `R`, `W`, each with `=SIZE`; new: `=thp` | text, data and bss on huge pages |
//! | `HUGETLB_FORCE_ELFMAP` | `yes` | was needed for what is done always now |
//! | `HUGETLB_MINIMAL_COPY` | `no` | was needed where all that counts is copied now |
//! | `HUGETLB_SHARE` | 1 | one copy of the text for all processes |
//! | `HUGETLB_SHARE_PATH` | a directory | where that copy lies |
//! | `HUGETLB_TEXT_LIBS` | new: `yes` | the text of shared libraries, too |
//! | `HUGETLB_TEXT_COPY` | new: a process, `:`, a program | the one that may copy text which others cannot share |
//! | `HUGETLB_PERF_MAP` | new: `yes` | a list of symbols for perf, where text is a copy |
//! | `HUGETLB_DEFAULT_PAGE_SIZE` | a size | the default size of the C interface |
//! | `HUGETLB_PATH` | `path[:path…]` | mounts for the C interface, instead of all |
//! | `HUGETLB_FEATURES` | `[no_]name,…` | what the C interface uses of the kernel |
//! | `HUGETLB_NO_RESERVE` | `yes` | is done always now |
//! | `HUGETLB_NO_PREFAULT` | any | does nothing: a page that is not there may kill |
//! | `HUGETLB_FALLBACK` | new: `thp`, `base`, `none` | what follows when huge pages run out |
//! | `HUGETLB_REQUIRE` | new: `SEGMENT[:PERCENT],…`, behind a process and `:` or not | what must be on huge pages in that process, or in all |
//! | `HUGETLB_LIMIT` | new: `1/N`, a size | what one process may take of the pools |
//! | `HUGETLB_PID` | new: a process, or 0 | the one that says when its heap runs out of huge pages |
//! | `HUGETLB_STARTER` | new: a process | its terminal hears what shared memory of others falls short of, and that announced transparent huge pages do not come |
//! | `HUGETLB_REPORT` | new: `-` or a file | a report at the end of the program |
//! | `HUGETLB_REPORT_PID` | new: a process | the one whose report goes to the terminal |
//! | `HUGETLB_REPORT_JSON` | new: `yes` | that report as JSON |
//! | `HUGETLB_REPORT_WATCH` | new: a process and a descriptor of its, `PID:FD` | who reports on ends that the library does not see |

mod api;
mod elfmap;
mod limit;
mod messages;
mod names;
mod odd;
mod require;
#[cfg(test)]
mod tests;
mod text_copy;
mod value;

pub use self::api::{Api, DefaultSize, Features};
pub use self::elfmap::Elfmap;
pub use self::limit::Limit;
pub use self::messages::{Handed, Messages};
pub use self::names::*;
pub use self::odd::Odd;
pub use self::require::{Require, Required, Share, Wrong};
pub use self::text_copy::TextCopy;
pub use self::value::Pages;
use self::value::{is_no, is_yes, number};
use crate::size;

/// The verbosity without any variable: errors and warnings.
pub const DEFAULT_VERBOSITY: u8 = 2;

/// The library for segments and shared memory.
pub const LIBRARY: &str = "libhugetlbfs.so";
/// The name by which programs that are linked with it find it at run time.
pub const VERSIONED: &str = "libhugetlbfs.so.0";
/// The library with a heap of its own besides.
pub const HEAP_LIBRARY: &str = "libhugetlbfs_heap.so";

/// The exported symbol by which our libraries are known among others of the
/// same name.
pub const MARKER: &str = "__hugetools_library";

/// What follows when huge pages run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// Transparent huge pages, then base pages.
    #[default]
    Thp,
    /// Base pages.
    Base,
    /// Nothing: the request fails.
    None,
}

impl Fallback {
    /// The word for it, in the variable and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Fallback::Thp => "thp",
            Fallback::Base => "base",
            Fallback::None => "none",
        }
    }
}

/// Where a report goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report<'a> {
    /// To standard error, from this process only.
    Terminal {
        /// The process that hugectl started.
        pid: u32,
        /// As JSON instead of a table.
        json: bool,
    },
    /// Appended to a file as a JSON line, by every process.
    File(&'a [u8]),
}

/// What a process makes of its environment. Values are read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings<'a> {
    /// 1 errors, 2 warnings, 3 information, 4 everything.
    pub verbosity: u8,
    /// Where messages go instead of standard error.
    pub messages: Option<Messages<'a>>,
    /// The heap's huge pages; `None` leaves the heap alone.
    pub heap: Option<Pages>,
    /// Where the heap begins, if it can.
    pub heap_base: Option<u64>,
    /// Whether what the heap frees goes back at once.
    pub heap_shrink: bool,
    /// Shared memory's huge pages; `None` leaves it alone.
    pub shm: Option<Pages>,
    /// The segments of the program.
    pub elfmap: Elfmap,
    /// Whether `HUGETLB_FORCE_ELFMAP` is set.
    pub force_elfmap: bool,
    /// Whether `HUGETLB_MINIMAL_COPY` has its default, not `no`.
    pub minimal_copy: bool,
    /// Whether all processes use one copy of the text.
    pub share_text: bool,
    /// Where that copy lies.
    pub share_path: Option<&'a [u8]>,
    /// Whether shared libraries' text counts as text, too.
    pub text_libs: bool,
    /// Who may make a copy of text that no other process can share; `None`
    /// without hugectl: who asks for it.
    pub text_copy: Option<TextCopy<'a>>,
    /// Whether perf is told the symbols of text that is a copy.
    pub perf_map: bool,
    /// What the C interface heeds.
    pub api: Api<'a>,
    /// When huge pages run out.
    pub fallback: Fallback,
    /// What must be on huge pages.
    pub require: Require,
    /// What this process may take of the pools; `None` for all it can get.
    pub limit: Option<Limit>,
    /// The process that says when it runs out of huge pages, so that a
    /// hundred helpers do not: the one that hugectl started, or 0 where hugectl
    /// has said it already. `None` without hugectl: each says it.
    pub speaker: Option<u32>,
    /// The process that hugectl started: its standard error hears of shared
    /// memory that falls short in one that it started in turn, whose own may be
    /// a log.
    pub starter: Option<u32>,
    /// The report at the end.
    pub report: Option<Report<'a>>,
    /// Who watches the processes that report: it, and the descriptor of what is
    /// shared with it.
    pub watcher: Option<(u32, u32)>,
    /// The variables whose values could not be used in full.
    pub odd: Odd,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            verbosity: DEFAULT_VERBOSITY,
            messages: None,
            heap: None,
            heap_base: None,
            heap_shrink: false,
            shm: None,
            elfmap: Elfmap::default(),
            force_elfmap: false,
            minimal_copy: true,
            share_text: false,
            share_path: None,
            text_libs: false,
            text_copy: None,
            perf_map: false,
            api: Api::NOTHING,
            fallback: Fallback::Thp,
            require: Require::NOTHING,
            limit: None,
            speaker: None,
            starter: None,
            report: None,
            watcher: None,
            odd: Odd::NONE,
        }
    }
}

impl<'a> Settings<'a> {
    /// Reads the variables through `get`. `program` is what follows the last
    /// `/` of the program's first argument, `pid` its process.
    pub fn read(get: impl Fn(&str) -> Option<&'a [u8]>, program: &[u8], pid: u32) -> Settings<'a> {
        let mut settings = Settings::default();
        if let Some(value) = get(VERBOSE) {
            settings.verbosity = verbosity(value);
        }
        if get(DEBUG).is_some() {
            settings.verbosity = settings.verbosity.max(4);
        }
        settings.messages = settings.read_messages(get(MESSAGES));
        let left_out = settings.is_other(get(NO_INHERIT), pid);
        if left_out || get(RESTRICT_EXE).is_some_and(|names| !is_among(program, names)) {
            return settings;
        }
        settings.heap = settings.pages(MORECORE, get(MORECORE));
        settings.heap_base = settings.address(HEAPBASE, get(HEAPBASE));
        settings.heap_shrink = settings.yes(SHRINK, get(SHRINK));
        settings.shm = settings.pages(SHM, get(SHM));
        settings.read_segments(&get);
        settings.api = Api::read(&get, &mut settings.odd);
        settings.fallback = settings.read_fallback(get(FALLBACK));
        settings.require = settings.read_require(get(REQUIRE), pid);
        settings.limit = settings.read_limit(get(LIMIT));
        settings.speaker = get(PID).and_then(number);
        settings.starter = get(STARTER).and_then(number);
        settings.report = settings.read_report(&get);
        settings.watcher = settings.read_watcher(get(REPORT_WATCH));
        settings
    }

    fn read_messages(&mut self, value: Option<&'a [u8]>) -> Option<Messages<'a>> {
        let value = value.filter(|value| !value.is_empty())?;
        let read = Messages::read(value);
        if read.is_none() {
            self.note(MESSAGES);
        }
        read
    }

    fn pages(&mut self, name: &'static str, value: Option<&[u8]>) -> Option<Pages> {
        let value = value?;
        if value.is_empty() || value.eq_ignore_ascii_case(b"no") {
            return None;
        }
        if value.eq_ignore_ascii_case(b"thp") {
            return Some(Pages::Thp);
        }
        if matches!(value[0], b'y' | b'Y') {
            return Some(Pages::Default);
        }
        match size::parse(value) {
            Ok(size) => {
                if size.tail {
                    self.note(name);
                }
                Some(Pages::Size(size.bytes))
            }
            Err(_) => {
                self.note(name);
                None
            }
        }
    }

    fn read_segments(&mut self, get: &impl Fn(&str) -> Option<&'a [u8]>) {
        if let Some(value) = get(ELFMAP) {
            self.elfmap = Elfmap::read(value).unwrap_or_else(|| {
                self.note(ELFMAP);
                Elfmap::OFF
            });
        }
        self.force_elfmap = self.yes(FORCE_ELFMAP, get(FORCE_ELFMAP));
        self.minimal_copy = !get(MINIMAL_COPY).is_some_and(is_no);
        self.share_text = self.share(get(SHARE));
        self.share_path = get(SHARE_PATH).filter(|path| !path.is_empty());
        self.text_libs = self.yes(TEXT_LIBS, get(TEXT_LIBS));
        self.text_copy = self.read_text_copy(get(TEXT_COPY));
        self.perf_map = self.yes(PERF_MAP, get(PERF_MAP));
    }

    /// 1 shares what is not written. 2 once shared all, and does nothing now.
    fn share(&mut self, value: Option<&[u8]>) -> bool {
        let value = value.unwrap_or_default().trim_ascii();
        match value {
            b"1" => return true,
            b"" | b"0" => {}
            _ => self.note(SHARE),
        }
        false
    }

    fn read_text_copy(&mut self, value: Option<&'a [u8]>) -> Option<TextCopy<'a>> {
        let value = value.filter(|value| !value.is_empty())?;
        let read = TextCopy::read(value);
        if read.is_none() {
            self.note(TEXT_COPY);
        }
        read
    }

    fn address(&mut self, name: &'static str, value: Option<&[u8]>) -> Option<u64> {
        let value = value.filter(|value| !value.is_empty())?;
        let digits = value.strip_prefix(b"0x").unwrap_or(value);
        let text = core::str::from_utf8(digits).unwrap_or_default();
        let address = u64::from_str_radix(text, 16).ok();
        if address.is_none() {
            self.note(name);
        }
        address
    }

    fn yes(&mut self, name: &'static str, value: Option<&[u8]>) -> bool {
        is_yes(name, value, &mut self.odd)
    }

    fn read_fallback(&mut self, value: Option<&[u8]>) -> Fallback {
        let all = [Fallback::Thp, Fallback::Base, Fallback::None];
        let Some(value) = value else {
            return Fallback::default();
        };
        let found = all.into_iter().find(|f| f.word().as_bytes() == value);
        if found.is_none() {
            self.note(FALLBACK);
        }
        found.unwrap_or_default()
    }

    fn read_require(&mut self, value: Option<&[u8]>, pid: u32) -> Require {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Require::NOTHING;
        };
        let read = Require::read_for(value, pid);
        if read.is_none() {
            self.note(REQUIRE);
        }
        read.unwrap_or_default()
    }

    fn read_limit(&mut self, value: Option<&[u8]>) -> Option<Limit> {
        let read = Limit::read(value.filter(|value| !value.is_empty())?);
        if read.is_none_or(|(_, tail)| tail) {
            self.note(LIMIT);
        }
        read.map(|(limit, _)| limit)
    }

    /// Whether huge pages are for another process alone. 0 is none.
    fn is_other(&mut self, only: Option<&[u8]>, pid: u32) -> bool {
        let Some(only) = only.filter(|only| !only.is_empty()) else {
            return false;
        };
        let only = number(only);
        if only.is_none() {
            self.note(NO_INHERIT);
        }
        only.is_some_and(|only| only != 0 && only != pid)
    }

    fn read_report(&mut self, get: impl Fn(&str) -> Option<&'a [u8]>) -> Option<Report<'a>> {
        let value = get(REPORT)?;
        if value != b"-" {
            if value.is_empty() {
                self.note(REPORT);
            }
            return (!value.is_empty()).then_some(Report::File(value));
        }
        let whose = get(REPORT_PID);
        let pid = whose.and_then(number);
        if pid.is_none() {
            // A variable that is not there cannot be wrong.
            self.note(if whose.is_some() { REPORT_PID } else { REPORT });
        }
        Some(Report::Terminal {
            pid: pid?,
            json: get(REPORT_JSON) == Some(b"yes"),
        })
    }

    fn read_watcher(&mut self, value: Option<&[u8]>) -> Option<(u32, u32)> {
        let value = value.filter(|value| !value.is_empty())?;
        let read = || {
            let colon = value.iter().position(|byte| *byte == b':')?;
            Some((number(&value[..colon])?, number(&value[colon + 1..])?))
        };
        let read = read();
        if read.is_none() {
            self.note(REPORT_WATCH);
        }
        read
    }

    fn note(&mut self, name: &'static str) {
        self.odd.add(name);
    }
}

/// Whether a program is in the list of [`RESTRICT_EXE`].
pub fn is_among(program: &[u8], names: &[u8]) -> bool {
    names.split(|b| *b == b':').any(|name| name == program)
}

/// As `atoi` reads it: leading digits, anything else is 0; at most 99.
pub fn verbosity(value: &[u8]) -> u8 {
    let value = value.trim_ascii_start();
    let digits = value.iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0, |n: u8, b| {
        n.saturating_mul(10).saturating_add(b - b'0').min(99)
    })
}

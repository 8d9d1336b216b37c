//! The environment protocol. The classic names and values stay as they were;
//! what is new is marked so.
//!
//! | variable | value | effect |
//! |---|---|---|
//! | `HUGETLB_VERBOSE` | 0 to 99 | 1 errors, 2 warnings (default), 3 information, 4 all |
//! | `HUGETLB_DEBUG` | any | as verbosity 4 |
//! | `HUGETLB_RESTRICT_EXE` | `name[:name…]` | programs of other names ignore what follows |
//! | `HUGETLB_MORECORE` | `yes`, a size, `thp`, `no` | the heap on huge pages |
//! | `HUGETLB_SHM` | `yes`; new: a size, `thp` | shared memory on huge pages |
//! | `HUGETLB_ELFMAP` | `no`, or `R`, `W`, each with `=SIZE`; new: `=thp` | text, data and bss on huge pages |
//! | `HUGETLB_SHARE` | 1 | one copy of the text for all processes |
//! | `HUGETLB_SHARE_PATH` | a directory | where that copy lies |
//! | `HUGETLB_NO_RESERVE` | `yes` | pages of a pool are not promised beforehand |
//! | `HUGETLB_TEXT_LIBS` | new: `yes` | the text of shared libraries, too |
//! | `HUGETLB_PERF_MAP` | new: `yes` | a list of symbols for perf, where text is a copy |
//! | `HUGETLB_FALLBACK` | new: `thp`, `base`, `none` | what follows when huge pages run out |
//! | `HUGETLB_PID` | new: a process, or 0 | the one that says when its heap runs out of huge pages |
//! | `HUGETLB_REPORT` | new: `-` or a file | a report at the end of the program |
//! | `HUGETLB_REPORT_PID` | new: a process | the one whose report goes to the terminal |
//! | `HUGETLB_REPORT_JSON` | new: `yes` | that report as JSON |

use core::fmt;

use crate::size::{self, SizeError};

/// `HUGETLB_VERBOSE`
pub const VERBOSE: &str = "HUGETLB_VERBOSE";
/// `HUGETLB_DEBUG`
pub const DEBUG: &str = "HUGETLB_DEBUG";
/// `HUGETLB_RESTRICT_EXE`
pub const RESTRICT_EXE: &str = "HUGETLB_RESTRICT_EXE";
/// `HUGETLB_MORECORE`
pub const MORECORE: &str = "HUGETLB_MORECORE";
/// `HUGETLB_SHM`
pub const SHM: &str = "HUGETLB_SHM";
/// `HUGETLB_ELFMAP`
pub const ELFMAP: &str = "HUGETLB_ELFMAP";
/// `HUGETLB_SHARE`
pub const SHARE: &str = "HUGETLB_SHARE";
/// `HUGETLB_SHARE_PATH`
pub const SHARE_PATH: &str = "HUGETLB_SHARE_PATH";
/// `HUGETLB_NO_RESERVE`
pub const NO_RESERVE: &str = "HUGETLB_NO_RESERVE";
/// `HUGETLB_TEXT_LIBS`
pub const TEXT_LIBS: &str = "HUGETLB_TEXT_LIBS";
/// `HUGETLB_PERF_MAP`
pub const PERF_MAP: &str = "HUGETLB_PERF_MAP";
/// `HUGETLB_FALLBACK`
pub const FALLBACK: &str = "HUGETLB_FALLBACK";
/// `HUGETLB_PID`
pub const PID: &str = "HUGETLB_PID";
/// `HUGETLB_REPORT`
pub const REPORT: &str = "HUGETLB_REPORT";
/// `HUGETLB_REPORT_PID`
pub const REPORT_PID: &str = "HUGETLB_REPORT_PID";
/// `HUGETLB_REPORT_JSON`
pub const REPORT_JSON: &str = "HUGETLB_REPORT_JSON";

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

/// Which huge pages a segment was asked to get first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The kernel's default huge page size.
    Default,
    /// A page size in bytes.
    Size(u64),
    /// Transparent huge pages; the pools are left alone.
    Thp,
}

impl fmt::Display for Pages {
    /// The value of the variable: `yes`, a size such as `2MB`, or `thp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Pages::Default => f.write_str("yes"),
            Pages::Thp => f.write_str("thp"),
            Pages::Size(n) if n >= 1 << 30 && n % (1 << 30) == 0 => write!(f, "{}GB", n >> 30),
            Pages::Size(n) if n >= 1 << 20 && n % (1 << 20) == 0 => write!(f, "{}MB", n >> 20),
            Pages::Size(n) if n >= 1 << 10 && n % (1 << 10) == 0 => write!(f, "{}KB", n >> 10),
            Pages::Size(n) => write!(f, "{n}"),
        }
    }
}

/// What `HUGETLB_ELFMAP` asks of the segments of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Elfmap {
    /// What cannot be written: code and read-only data.
    pub text: Option<Pages>,
    /// What can be written: data and bss.
    pub data: Option<Pages>,
    /// `no`: not even segments that are marked in the file.
    pub off: bool,
}

impl Elfmap {
    /// Whether segments that are marked in the file go to huge pages: where
    /// nothing was said about classes of segments.
    pub fn heeds_marks(&self) -> bool {
        !self.off && self.text.is_none() && self.data.is_none()
    }
}

impl fmt::Display for Elfmap {
    /// The value of the variable, such as `R:W=2MB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.off {
            return f.write_str("no");
        }
        let mut separator = "";
        for (letter, pages) in [('R', self.text), ('W', self.data)] {
            match pages {
                None => continue,
                Some(Pages::Default) => write!(f, "{separator}{letter}")?,
                Some(pages) => write!(f, "{separator}{letter}={pages}")?,
            }
            separator = ":";
        }
        Ok(())
    }
}

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

/// A value that cannot be used; the variable counts as unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odd {
    /// The name of the variable.
    pub name: &'static str,
}

/// What a process makes of its environment. Values are read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings<'a> {
    /// 1 errors, 2 warnings, 3 information, 4 everything.
    pub verbosity: u8,
    /// The heap's huge pages; `None` leaves the heap alone.
    pub heap: Option<Pages>,
    /// Shared memory's huge pages; `None` leaves it alone.
    pub shm: Option<Pages>,
    /// The segments of the program.
    pub elfmap: Elfmap,
    /// Whether all processes use one copy of the text.
    pub share_text: bool,
    /// Where that copy lies.
    pub share_path: Option<&'a [u8]>,
    /// Whether shared libraries' text counts as text, too.
    pub text_libs: bool,
    /// Whether perf is told the symbols of text that is a copy.
    pub perf_map: bool,
    /// When huge pages run out.
    pub fallback: Fallback,
    /// The process that says when it runs out of huge pages, so that a
    /// hundred helpers do not: the one that hugectl started, or 0 where hugectl
    /// has said it already. `None` without hugectl: each says it.
    pub speaker: Option<u32>,
    /// The report at the end.
    pub report: Option<Report<'a>>,
    /// The first variable whose value could not be used.
    pub odd: Option<Odd>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            verbosity: DEFAULT_VERBOSITY,
            heap: None,
            shm: None,
            elfmap: Elfmap::default(),
            share_text: false,
            share_path: None,
            text_libs: false,
            perf_map: false,
            fallback: Fallback::Thp,
            speaker: None,
            report: None,
            odd: None,
        }
    }
}

impl<'a> Settings<'a> {
    /// Reads the variables through `get`. `program` is what follows the last
    /// `/` of the program's first argument.
    pub fn read(get: impl Fn(&str) -> Option<&'a [u8]>, program: &[u8]) -> Settings<'a> {
        let mut settings = Settings::default();
        if let Some(value) = get(VERBOSE) {
            settings.verbosity = verbosity(value);
        }
        if get(DEBUG).is_some() {
            settings.verbosity = settings.verbosity.max(4);
        }
        let restricted = get(RESTRICT_EXE)
            .is_some_and(|names| !names.split(|b| *b == b':').any(|name| name == program));
        if restricted {
            return settings;
        }
        settings.heap = settings.pages(MORECORE, get(MORECORE));
        settings.shm = settings.pages(SHM, get(SHM));
        settings.elfmap = settings.read_elfmap(get(ELFMAP));
        settings.share_text = get(SHARE).and_then(number) == Some(1);
        settings.share_path = get(SHARE_PATH).filter(|path| !path.is_empty());
        settings.text_libs = get(TEXT_LIBS).is_some_and(is_yes);
        settings.perf_map = get(PERF_MAP).is_some_and(is_yes);
        settings.fallback = settings.read_fallback(get(FALLBACK));
        settings.speaker = get(PID).and_then(number);
        settings.report = settings.read_report(&get);
        settings
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

    /// A size that makes no sense means no remapping at all, as it always did:
    /// half of a request is not what was asked for.
    fn read_elfmap(&mut self, value: Option<&[u8]>) -> Elfmap {
        let Some(value) = value else {
            return Elfmap::default();
        };
        let off = Elfmap {
            off: true,
            ..Elfmap::default()
        };
        if value.eq_ignore_ascii_case(b"no") {
            return off;
        }
        match (self.class(value, b'R'), self.class(value, b'W')) {
            (Ok(text), Ok(data)) => {
                if text.is_none() && data.is_none() && !value.is_empty() {
                    self.note(ELFMAP);
                }
                Elfmap {
                    text,
                    data,
                    off: false,
                }
            }
            _ => {
                self.note(ELFMAP);
                off
            }
        }
    }

    /// A letter anywhere in the value, and the size that follows it.
    fn class(&mut self, value: &[u8], letter: u8) -> Result<Option<Pages>, SizeError> {
        let is_letter = |byte: &u8| byte.eq_ignore_ascii_case(&letter);
        let Some(at) = value.iter().position(is_letter) else {
            return Ok(None);
        };
        let Some(size) = value[at + 1..].strip_prefix(b"=") else {
            return Ok(Some(Pages::Default));
        };
        let size = size.split(|byte| *byte == b':').next().unwrap_or(size);
        if size.eq_ignore_ascii_case(b"thp") {
            return Ok(Some(Pages::Thp));
        }
        // The letter of the other class may follow without a colon.
        let end = size.iter().position(|byte| b"RrWw".contains(byte));
        let size = size::parse(&size[..end.unwrap_or(size.len())])?;
        if size.tail {
            self.note(ELFMAP);
        }
        Ok(Some(Pages::Size(size.bytes)))
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

    fn read_report(&mut self, get: impl Fn(&str) -> Option<&'a [u8]>) -> Option<Report<'a>> {
        let value = get(REPORT)?;
        if value != b"-" {
            if value.is_empty() {
                self.note(REPORT);
            }
            return (!value.is_empty()).then_some(Report::File(value));
        }
        let pid = get(REPORT_PID).and_then(number);
        if pid.is_none() {
            self.note(REPORT_PID);
        }
        Some(Report::Terminal {
            pid: pid?,
            json: get(REPORT_JSON) == Some(b"yes"),
        })
    }

    fn note(&mut self, name: &'static str) {
        self.odd.get_or_insert(Odd { name });
    }
}

fn is_yes(value: &[u8]) -> bool {
    value.eq_ignore_ascii_case(b"yes")
}

fn number(value: &[u8]) -> Option<u32> {
    core::str::from_utf8(value).ok()?.parse().ok()
}

/// As `atoi` reads it: leading digits, anything else is 0; at most 99.
pub fn verbosity(value: &[u8]) -> u8 {
    let value = value.trim_ascii_start();
    let digits = value.iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0, |n: u8, b| {
        n.saturating_mul(10).saturating_add(b - b'0').min(99)
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    fn read<'a>(vars: &'a [(&str, &str)], program: &str) -> Settings<'a> {
        let get = |name: &str| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.as_bytes())
        };
        Settings::read(get, program.as_bytes())
    }

    #[test]
    fn nothing_set_means_nothing_done() {
        assert_eq!(read(&[], "x"), Settings::default());
    }

    #[test]
    fn classic_values() {
        assert_eq!(read(&[(MORECORE, "yes")], "x").heap, Some(Pages::Default));
        assert_eq!(read(&[(MORECORE, "Y")], "x").heap, Some(Pages::Default));
        assert_eq!(read(&[(MORECORE, "THP")], "x").heap, Some(Pages::Thp));
        assert_eq!(read(&[(MORECORE, "No")], "x").heap, None);
        assert_eq!(
            read(&[(MORECORE, "2MB")], "x").heap,
            Some(Pages::Size(2 << 20))
        );
        assert_eq!(read(&[(SHM, "yes")], "x").shm, Some(Pages::Default));
        assert_eq!(read(&[(VERBOSE, "3")], "x").verbosity, 3);
        assert_eq!(read(&[(VERBOSE, "1"), (DEBUG, "")], "x").verbosity, 4);
    }

    #[test]
    fn a_restricted_program_ignores_the_rest() {
        let vars = [
            (RESTRICT_EXE, "a:solver"),
            (MORECORE, "yes"),
            (VERBOSE, "1"),
        ];
        assert_eq!(read(&vars, "solver").heap, Some(Pages::Default));
        assert_eq!(read(&vars, "solve").heap, None);
        assert_eq!(read(&vars, "solve").verbosity, 1);
    }

    #[test]
    fn odd_values_count_as_unset_and_are_named() {
        let settings = read(&[(MORECORE, "lots"), (FALLBACK, "tape")], "x");
        assert_eq!(settings.heap, None);
        assert_eq!(settings.fallback, Fallback::Thp);
        assert_eq!(settings.odd, Some(Odd { name: MORECORE }));
    }

    #[test]
    fn a_report_to_the_terminal_names_its_process() {
        let vars = [(REPORT, "-"), (REPORT_PID, "42"), (REPORT_JSON, "yes")];
        let report = Report::Terminal {
            pid: 42,
            json: true,
        };
        assert_eq!(read(&vars, "x").report, Some(report));
        assert_eq!(read(&vars[..1], "x").report, None);
        assert_eq!(
            read(&[(REPORT, "/tmp/r")], "x").report,
            Some(Report::File(b"/tmp/r"))
        );
    }

    #[test]
    fn segments_by_class() {
        let elfmap = |value| read(&[(ELFMAP, value)], "x").elfmap;
        let of = |text, data| Elfmap {
            text,
            data,
            off: false,
        };
        let size = |bytes| Some(Pages::Size(bytes));
        let default = Some(Pages::Default);
        assert_eq!(elfmap("R"), of(default, None));
        assert_eq!(elfmap("rw"), of(default, default));
        assert_eq!(elfmap("R:W=1G"), of(default, size(1 << 30)));
        assert_eq!(elfmap("R=64kW=16M"), of(size(64 << 10), size(16 << 20)));
        assert_eq!(elfmap("W=thp"), of(None, Some(Pages::Thp)));
        assert!(elfmap("no").off && !elfmap("no").heeds_marks());
        assert!(elfmap("").heeds_marks() && !elfmap("R").heeds_marks());
        let odd = read(&[(ELFMAP, "R:W=lots")], "x");
        assert!(odd.elfmap.off);
        assert_eq!(odd.odd, Some(Odd { name: ELFMAP }));
        assert_eq!(read(&[(ELFMAP, "x")], "x").odd, Some(Odd { name: ELFMAP }));
    }

    #[test]
    fn one_process_speaks_for_all() {
        assert_eq!(read(&[], "x").speaker, None);
        assert_eq!(read(&[(PID, "42")], "x").speaker, Some(42));
        assert_eq!(read(&[(PID, "0")], "x").speaker, Some(0));
    }

    #[test]
    fn verbosity_is_read_as_atoi_does() {
        assert_eq!(verbosity(b"99"), 99);
        assert_eq!(verbosity(b"4x"), 4);
        assert_eq!(verbosity(b"x"), 0);
        assert_eq!(verbosity(b"1000"), 99);
    }

    proptest! {
        #[test]
        fn what_is_displayed_is_read_back(bytes in 1u64..1 << 62, shift in 0u32..40) {
            let bytes = (bytes >> shift).max(1) << (shift / 2);
            for pages in [Pages::Default, Pages::Thp, Pages::Size(bytes)] {
                let value = std::format!("{pages}");
                prop_assert_eq!(read(&[(MORECORE, &value)], "x").heap, Some(pages));
                let elfmap = Elfmap { text: Some(pages), data: Some(Pages::Thp), off: false };
                let value = std::format!("{elfmap}");
                prop_assert_eq!(read(&[(ELFMAP, &value)], "x").elfmap, elfmap);
            }
        }

        #[test]
        fn reading_never_panics(value in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Settings::read(|_| Some(&value), b"x");
        }
    }
}

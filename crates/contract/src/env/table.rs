//! The table of settings. Each row has a variable, the syntax of its value and its effect. Most
//! rows also have a field of [`Settings`] with its default and its parser. Memory whose field is
//! `None` is left alone.
//!
//! A new setting is a row here and a paragraph in `man/libhugetlbfs.7`.

use super::elfmap::Elfmap;
use super::filter::Filter;
use super::limit::Limit;
use super::messages::Messages;
use super::read;
use super::require::Require;
use super::source::Source;
use super::value::{Pages, parse_number};
use super::{
    DEFAULT_VERBOSITY, DefaultSize, Fallback, Rejected, Report, Starter, TextCopy, Watcher,
};

settings! {
    VERBOSE = "HUGETLB_VERBOSE",
        "0 to 99",
        "1 errors, 2 warnings (default), 3 information, 4 all"
        => verbosity: u8 = DEFAULT_VERBOSITY, |source, name| read::verbosity_or_debug(source, name, DEBUG);
    DEBUG = "HUGETLB_DEBUG",
        "any",
        "verbosity 4";
    MESSAGES = "HUGETLB_MESSAGES",
        "new: a file, a descriptor, or `FD:DEVICE:INODE:FILE`",
        "the destination of messages instead of standard error"
        => messages: Option<Messages<'a>> = None, read::messages;
    RESTRICT_EXE = "HUGETLB_RESTRICT_EXE",
        "`name[:name…]`",
        "other programs ignore all variables below";
    NO_INHERIT = "HUGETLB_NO_INHERIT",
        "new: a process, or 0",
        "other processes ignore all variables below";
    MORECORE = "HUGETLB_MORECORE",
        "`yes`, a size, `thp`, `no`",
        "the heap on huge pages"
        => heap: Option<Pages> = None, read::pages;
    HEAPBASE = "HUGETLB_MORECORE_HEAPBASE",
        "a hexadecimal address",
        "the start address of the heap"
        => heap_base: Option<u64> = None, read::address;
    SHRINK = "HUGETLB_MORECORE_SHRINK",
        "`yes`",
        "return freed heap memory to the kernel at once"
        => heap_shrink: bool = false, Source::yes;
    SHM = "HUGETLB_SHM",
        "`yes`; new: a size, `thp`",
        "shared memory on huge pages"
        => shm: Option<Pages> = None, read::pages;
    ANON = "HUGETLB_ANON",
        "new: `yes`, a size, `thp`, `no`",
        "the program's own large private mappings on transparent huge pages"
        => anon: Option<Pages> = None, read::pages;
    ANON_MIN = "HUGETLB_ANON_MIN",
        "new: a size",
        "minimum length in bytes of such a mapping; one huge page by default"
        => anon_min: Option<u64> = None, read::length;
    STACK = "HUGETLB_STACK",
        "new: `yes`, a size, `thp`, `no`",
        "the stacks of all threads on transparent huge pages"
        => stack: Option<Pages> = None, read::pages;
    STACK_DEPTH = "HUGETLB_STACK_DEPTH",
        "new: a size",
        "bytes of each stack to prefault; nothing by default"
        => stack_depth: Option<u64> = None, read::length;
    NEXT_TOUCH = "HUGETLB_NEXT_TOUCH",
        "new: a size",
        "private memory moves once to the nodes of the threads that touch it next; minimum length of a mapping in bytes"
        => next_touch: Option<u64> = None, read::length;
    THP_POLICY = "HUGETLB_THP_POLICY",
        "new: `always`",
        "the program cannot disable transparent huge pages for itself"
        => ignore_thp_disable: bool = false, |source, name| read::is_word(source, name, b"always");
    FORK = "HUGETLB_FORK",
        "new: `kernel`",
        "leave private pool memory on the pool at a fork"
        => kernel_fork: bool = false, |source, name| read::is_word(source, name, b"kernel");
    ELFMAP = "HUGETLB_ELFMAP",
        "`no`, or `R`, `W`, each with `=SIZE`; new: `=thp`",
        "text, data and bss on huge pages"
        => elfmap: Elfmap = Elfmap::NOTHING, read::elfmap;
    FORCE_ELFMAP = "HUGETLB_FORCE_ELFMAP",
        "`yes`",
        "no effect: segments are always remapped if requested";
    MINIMAL_COPY = "HUGETLB_MINIMAL_COPY",
        "`no`",
        "no effect: only used bytes are ever copied";
    SHARE = "HUGETLB_SHARE",
        "1",
        "one copy of the text for all processes"
        => share_text: bool = false, read::share;
    SHARE_PATH = "HUGETLB_SHARE_PATH",
        "a directory",
        "the directory of that copy"
        => share_path: Option<&'a [u8]> = None, Source::path;
    TEXT_LIBS = "HUGETLB_TEXT_LIBS",
        "new: `yes`",
        "the text of shared libraries, too"
        => text_libs: bool = false, Source::yes;
    TEXT_COPY = "HUGETLB_TEXT_COPY",
        "new: a process, `:`, a program",
        "the process that may copy text without sharing it; any if unset"
        => text_copy: Option<TextCopy<'a>> = None, read::text_copy;
    FILTER = "HUGETLB_FILTER",
        "new: a number, `:`, `mremap,madvise,mprotect,memfd_create`",
        "the number of seccomp filters that hugectl ran under, if any, and the calls that they refuse"
        => filter: Option<Filter> = None, |source, name| Source::parsed(source, name, Filter::read);
    PERF_MAP = "HUGETLB_PERF_MAP",
        "new: `yes`",
        "a symbol map for perf when text is a copy"
        => perf_map: bool = false, Source::yes;
    DEFAULT_PAGE_SIZE = "HUGETLB_DEFAULT_PAGE_SIZE",
        "a size",
        "the default size of the C interface"
        => default_size: DefaultSize = DefaultSize::Kernel, read::default_size;
    PATH = "HUGETLB_PATH",
        "`path[:path…]`",
        "mounts for the C interface; all usable ones if unset"
        => mounts: Option<&'a [u8]> = None, Source::list;
    FEATURES = "HUGETLB_FEATURES",
        "`[no_]name,…`",
        "whether the C interface uses MAP_HUGETLB; other features have no effect"
        => map_hugetlb: bool = true, read::map_hugetlb;
    NO_RESERVE = "HUGETLB_NO_RESERVE",
        "`yes`",
        "no effect: private pages are populated, not reserved";
    NO_PREFAULT = "HUGETLB_NO_PREFAULT",
        "any",
        "no effect: pages are always prefaulted, since a missing page raises SIGBUS";
    FALLBACK = "HUGETLB_FALLBACK",
        "new: `thp`, `base`, `none`",
        "the fallback when huge pages run out"
        => fallback: Fallback = Fallback::Thp, read::fallback;
    REQUIRE = "HUGETLB_REQUIRE",
        "new: `[PID:]SEGMENT[:PERCENT],…`",
        "segments that must be on huge pages, in one process or in all"
        => require: Require = Require::NOTHING, read::require;
    LIMIT = "HUGETLB_LIMIT",
        "new: `1/N`, a size",
        "the share of the pools that one process may take"
        => limit: Option<Limit> = None, |source, name| Source::parsed(source, name, Limit::read);
    PID = "HUGETLB_PID",
        "new: a process, or 0",
        "the process that warns when its heap runs out of huge pages; 0 if hugectl has warned; all if unset"
        => warning_pid: Option<u32> = None, |source, name| Source::parsed(source, name, parse_number);
    STARTER = "HUGETLB_STARTER",
        "new: a process, or `PID:KEY:KINDS:FILE`",
        "the process whose standard error gets warnings of its children; FILE is the ledger of messages, so that one process prints each"
        => starter: Option<Starter> = None, |source, name| Source::parsed(source, name, read::starter);
    REPORT = "HUGETLB_REPORT",
        "new: `-` or a file",
        "a report at exit"
        => report: Option<Report<'a>> = None, |source, name| read::report(source, name, REPORT_PID, REPORT_JSON);
    REPORT_PID = "HUGETLB_REPORT_PID",
        "new: a process",
        "the process whose report goes to the terminal";
    REPORT_JSON = "HUGETLB_REPORT_JSON",
        "new: `yes`",
        "that report as JSON";
    REPORT_WATCH = "HUGETLB_REPORT_WATCH",
        "new: `PROGRAM:HUGECTL:FD`",
        "hugectl prints the program's report from the page at FD"
        => watcher: Option<Watcher> = None, |source, name| Source::parsed(source, name, read::watcher);
}

impl<'a> Settings<'a> {
    /// Reads all settings from an environment.
    pub fn of(mut source: Source<'_, 'a>) -> Settings<'a> {
        if source.applies(NO_INHERIT, RESTRICT_EXE) {
            return Settings::all(&mut source);
        }
        Settings {
            verbosity: read::verbosity_or_debug(&mut source, VERBOSE, DEBUG),
            messages: read::messages(&mut source, MESSAGES),
            rejected: source.rejected,
            ..Settings::NOTHING
        }
    }
}

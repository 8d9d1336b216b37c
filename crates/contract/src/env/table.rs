//! The table of settings, a row each: its variable, the grammar of its value, what it
//! does; and what a process has of it: field, default, and who reads the value.
//!
//! A new setting is a row here, and its paragraph in `man/libhugetlbfs.7`.

use super::api::{self, DefaultSize, Features};
use super::elfmap::Elfmap;
use super::filter::Filter;
use super::limit::Limit;
use super::messages::Messages;
use super::odd::Odd;
use super::read;
use super::require::Require;
use super::source::Source;
use super::text_copy::TextCopy;
use super::value::Pages;
use super::{DEFAULT_VERBOSITY, Fallback, Report, Starter, Watcher};

settings! {
    in any program {
        VERBOSE = "HUGETLB_VERBOSE",
            "0 to 99",
            "1 errors, 2 warnings (default), 3 information, 4 all"
            =>
            /// 1 errors, 2 warnings, 3 information, 4 everything.
            verbosity: u8 = DEFAULT_VERBOSITY, |source, name| read::how_much_is_said(source, name, DEBUG);
        DEBUG = "HUGETLB_DEBUG",
            "any",
            "as verbosity 4";
        MESSAGES = "HUGETLB_MESSAGES",
            "new: a file, a descriptor, or `FD:DEVICE:INODE:FILE`",
            "where messages go instead of standard error"
            =>
            /// Where messages go instead of standard error.
            messages: Option<Messages<'a>> = None, read::messages;
        RESTRICT_EXE = "HUGETLB_RESTRICT_EXE",
            "`name[:name…]`",
            "programs of other names ignore what follows";
        NO_INHERIT = "HUGETLB_NO_INHERIT",
            "new: a process, or 0",
            "other processes ignore what follows";
    }
    in one that is meant by NO_INHERIT and RESTRICT_EXE {
        MORECORE = "HUGETLB_MORECORE",
            "`yes`, a size, `thp`, `no`",
            "the heap on huge pages"
            =>
            /// The heap's huge pages; `None` leaves the heap alone.
            heap: Option<Pages> = None, read::pages;
        HEAPBASE = "HUGETLB_MORECORE_HEAPBASE",
            "a hexadecimal address",
            "where the heap begins, within its area"
            =>
            /// Where the heap begins, if it can.
            heap_base: Option<u64> = None, read::address;
        SHRINK = "HUGETLB_MORECORE_SHRINK",
            "`yes`",
            "what the heap frees goes back at once"
            =>
            /// Whether what the heap frees goes back at once.
            heap_shrink: bool = false, Source::yes;
        SHM = "HUGETLB_SHM",
            "`yes`; new: a size, `thp`",
            "shared memory on huge pages"
            =>
            /// Shared memory's huge pages; `None` leaves it alone.
            shm: Option<Pages> = None, read::pages;
        ANON = "HUGETLB_ANON",
            "new: `yes`, a size, `thp`, `no`",
            "large private mappings of the program's own on transparent huge pages"
            =>
            /// What private anonymous mappings of the program's own are asked for;
            /// `None` leaves them alone.
            anon: Option<Pages> = None, read::pages;
        ANON_MIN = "HUGETLB_ANON_MIN",
            "new: a size",
            "from which length on such mappings count as large; one huge page by default"
            =>
            /// From how many bytes on such a mapping counts as large; `None` for one
            /// huge page.
            anon_min: Option<u64> = None, read::length;
        STACK = "HUGETLB_STACK",
            "new: `yes`, a size, `thp`, `no`",
            "the main thread's stack and those of its threads on transparent huge pages"
            =>
            /// What stacks are asked for; `None` leaves them alone.
            stack: Option<Pages> = None, read::pages;
        STACK_DEPTH = "HUGETLB_STACK_DEPTH",
            "new: a size",
            "as much of each stack is there before it is used; nothing by default"
            =>
            /// How many bytes of each stack are there before they are used.
            stack_depth: Option<u64> = None, read::length;
        THP_POLICY = "HUGETLB_THP_POLICY",
            "new: `always`",
            "the program's own bans of transparent huge pages are not carried out"
            =>
            /// Whether a program that bans transparent huge pages for itself has them
            /// all the same.
            lift_thp_ban: bool = false, read::thp_policy;
        FORK = "HUGETLB_FORK",
            "new: `kernel`",
            "private pool memory is forked as the kernel forks it"
            =>
            /// Whether private pool memory stays on the pool beside threads and at forks.
            kernel_fork: bool = false, read::fork;
        ELFMAP = "HUGETLB_ELFMAP",
            "`no`, or `R`, `W`, each with `=SIZE`; new: `=thp`",
            "text, data and bss on huge pages"
            =>
            /// The segments of the program.
            elfmap: Elfmap = Elfmap::NOTHING, read::elfmap;
        FORCE_ELFMAP = "HUGETLB_FORCE_ELFMAP",
            "`yes`",
            "was needed for what is done always now"
            =>
            /// Whether it is `yes`.
            force_elfmap: bool = false, Source::yes;
        MINIMAL_COPY = "HUGETLB_MINIMAL_COPY",
            "`no`",
            "was needed where all that counts is copied now"
            =>
            /// Whether it has its default, not `no`.
            minimal_copy: bool = true, Source::is_not_no;
        SHARE = "HUGETLB_SHARE",
            "1",
            "one copy of the text for all processes"
            =>
            /// Whether all processes use one copy of the text.
            share_text: bool = false, read::share;
        SHARE_PATH = "HUGETLB_SHARE_PATH",
            "a directory",
            "where that copy lies"
            =>
            /// Where that copy lies.
            share_path: Option<&'a [u8]> = None, Source::path;
        TEXT_LIBS = "HUGETLB_TEXT_LIBS",
            "new: `yes`",
            "the text of shared libraries, too"
            =>
            /// Whether shared libraries' text counts as text, too.
            text_libs: bool = false, Source::yes;
        TEXT_COPY = "HUGETLB_TEXT_COPY",
            "new: a process, `:`, a program",
            "the one that may copy text which others cannot share"
            =>
            /// Who may make a copy of text that no other process can share; `None`
            /// without hugectl: who asks for it.
            text_copy: Option<TextCopy<'a>> = None, read::text_copy;
        FILTER = "HUGETLB_FILTER",
            "new: a number, `:`, `mremap,madvise,mprotect,memfd_create`",
            "how many filters of system calls hugectl ran under, and what they do not let through"
            =>
            /// What hugectl has found out about filters of system calls; `None` where it ran
            /// under none.
            filter: Option<Filter> = None, read::filter;
        PERF_MAP = "HUGETLB_PERF_MAP",
            "new: `yes`",
            "a list of symbols for perf, where text is a copy"
            =>
            /// Whether perf is told the symbols of text that is a copy.
            perf_map: bool = false, Source::yes;
        DEFAULT_PAGE_SIZE = "HUGETLB_DEFAULT_PAGE_SIZE",
            "a size",
            "the default size of the C interface"
            =>
            /// The page size that the C interface calls the default one.
            default_size: DefaultSize = DefaultSize::Kernel, api::default_size;
        PATH = "HUGETLB_PATH",
            "`path[:path…]`",
            "mounts for the C interface, instead of all"
            =>
            /// Mounts for the C interface, separated by colons; without it all mounts of
            /// the machine that can be used.
            mounts: Option<&'a [u8]> = None, Source::list;
        FEATURES = "HUGETLB_FEATURES",
            "`[no_]name,…`",
            "what the C interface uses of the kernel"
            =>
            /// Which features of the kernel the C interface uses.
            features: Features = Features::ALL, api::features;
        NO_RESERVE = "HUGETLB_NO_RESERVE",
            "`yes`",
            "is done always now"
            =>
            /// Whether it is `yes`.
            no_reserve: bool = false, Source::yes;
        NO_PREFAULT = "HUGETLB_NO_PREFAULT",
            "any",
            "does nothing: a page that is not there may kill"
            =>
            /// Whether it is there.
            no_prefault: bool = false, Source::is_there;
        FALLBACK = "HUGETLB_FALLBACK",
            "new: `thp`, `base`, `none`",
            "what follows when huge pages run out"
            =>
            /// When huge pages run out.
            fallback: Fallback = Fallback::Thp, read::fallback;
        REQUIRE = "HUGETLB_REQUIRE",
            "new: `SEGMENT[:PERCENT],…`, behind a process and `:` or not",
            "what must be on huge pages in that process, or in all"
            =>
            /// What must be on huge pages.
            require: Require = Require::NOTHING, read::require;
        LIMIT = "HUGETLB_LIMIT",
            "new: `1/N`, a size",
            "what one process may take of the pools"
            =>
            /// What this process may take of the pools; `None` for all it can get.
            limit: Option<Limit> = None, read::limit;
        PID = "HUGETLB_PID",
            "new: a process, or 0",
            "the one that says when its heap runs out of huge pages"
            =>
            /// The process that says when it runs out of huge pages, so that a
            /// hundred helpers do not: the one that hugectl started, or 0 where hugectl
            /// has said it already. `None` without hugectl: each says it.
            speaker: Option<u32> = None, Source::number;
        STARTER = "HUGETLB_STARTER",
            "new: a process, or `PID:KEY:FILE`",
            "its terminal hears what shared memory of others falls short of, and that announced transparent huge pages do not come; FILE keeps what the start has said, so that one process says it"
            =>
            /// The process that hugectl started: its standard error hears of shared
            /// memory that falls short in one that it started in turn, whose own may be
            /// a log.
            starter: Option<Starter> = None, read::starter;
        REPORT = "HUGETLB_REPORT",
            "new: `-` or a file",
            "a report at the end of the program"
            =>
            /// The report at the end.
            report: Option<Report<'a>> = None, |source, name| read::report(source, name, REPORT_PID, REPORT_JSON);
        REPORT_PID = "HUGETLB_REPORT_PID",
            "new: a process",
            "the one whose report goes to the terminal";
        REPORT_JSON = "HUGETLB_REPORT_JSON",
            "new: `yes`",
            "that report as JSON";
        REPORT_WATCH = "HUGETLB_REPORT_WATCH",
            "new: a process, the one that waits for it, and a descriptor of that, `PID:PID:FD`",
            "who prints the report of which process"
            =>
            /// The page for the report of a program that hugectl waits for.
            watcher: Option<Watcher> = None, read::watcher;
    }
}

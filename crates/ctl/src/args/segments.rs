//! Options that choose the memory to put on huge pages.

use clap::Args;

use super::DEFAULT;

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "What goes on huge pages")]
pub(crate) struct Segments {
    /// Choose options known to suit the program
    ///
    /// Prints the options and the reason for each. Explicit options win.
    #[arg(long)]
    pub(crate) auto: bool,

    /// Code and read-only data
    ///
    /// Tries huge pages of the page cache, then pool pages, then transparent huge pages; with
    /// SIZE, pool pages come first. Pool pages and transparent huge pages hold a copy of the
    /// code, so some crash reporters lose function names; hugeedit --align can avoid the copy.
    #[arg(
        long, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // The abbreviations are otherwise ambiguous with --text-libs.
        aliases = ["te", "tex"],
    )]
    pub(crate) text: Option<String>,

    /// Code of shared libraries; implies --text
    #[arg(long)]
    pub(crate) text_libs: bool,

    /// Initialised data, and bss with it
    #[arg(
        long, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub(crate) data: Option<String>,

    /// Zero-initialised data, and data with it
    ///
    /// With both options, the pages of --data count.
    #[arg(
        long, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // The abbreviation is otherwise ambiguous with --budget.
        alias = "b",
    )]
    pub(crate) bss: Option<String>,

    /// Memory that malloc returns
    ///
    /// Uses pool pages of the default size or of SIZE, then transparent huge pages; with thp
    /// only the latter.
    #[arg(
        long, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // The abbreviation is otherwise ambiguous with --heap-engine.
        alias = "hea",
    )]
    pub(crate) heap: Option<String>,

    /// Which malloc: arena (ours) or libc's
    ///
    /// The default is arena, and libc for static programs. glibc's malloc is configured by
    /// GLIBC_TUNABLES.
    #[arg(
        long, value_name = "libc|arena",
        value_parser = ["libc", "arena"], hide_possible_values = true,
    )]
    pub(crate) heap_engine: Option<String>,

    /// Shared memory (shmget, mmap, memfd)
    ///
    /// Pool pages back System V segments and shared anonymous mappings. Files in memory
    /// (memfd_create, shm_open, tmpfs) get transparent huge pages.
    #[arg(
        long, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub(crate) shm: Option<String>,

    /// Large private mappings of the program
    ///
    /// Serves programs with their own allocator or virtual machine. Even with SIZE, the mappings
    /// get transparent huge pages, since pool pages cannot be freed in part.
    #[arg(
        long, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // The abbreviations are otherwise ambiguous with --anon-min or --auto.
        aliases = ["a", "an", "ano"],
    )]
    pub(crate) anon: Option<String>,

    /// With --anon: minimum length of a mapping
    ///
    /// The default is one huge page.
    #[arg(long, value_name = "SIZE")]
    pub(crate) anon_min: Option<String>,

    /// Stacks of all threads
    ///
    /// Even with SIZE, they get transparent huge pages: a stack on pool pages cannot grow.
    /// With --pid: the stack of the main thread.
    #[arg(
        long, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // The abbreviation is otherwise ambiguous with --stack-depth.
        alias = "stac",
    )]
    pub(crate) stack: Option<String>,

    /// With --stack: prefault BYTES per stack
    #[arg(long, value_name = "BYTES")]
    pub(crate) stack_depth: Option<String>,

    /// Same as --heap=thp; needs no pool
    ///
    /// Wins over a size of --heap.
    #[arg(
        long,
        // The abbreviation is otherwise ambiguous with --thp-policy.
        alias = "th",
    )]
    pub(crate) thp: bool,

    /// THP by prctl: always, advised or never
    ///
    /// Applies to the program and all its children. always lifts an inherited ban and ignores
    /// bans by the program; advised allows only advised memory (Linux 6.18); never forbids
    /// transparent huge pages.
    #[arg(
        long, value_name = "POLICY",
        value_parser = ["always", "advised", "never"], hide_possible_values = true,
    )]
    pub(crate) thp_policy: Option<String>,

    /// Keep private memory on the pool at forks
    ///
    /// The library then moves no memory off the pool, neither before a fork nor at the first
    /// thread. A write after a fork needs a free page of the pool; without one, the kernel kills
    /// the writer.
    #[arg(long, value_name = "kernel", value_parser = ["kernel"], hide_possible_values = true)]
    pub(crate) fork: Option<String>,

    /// If the pool has no page; thp by default
    ///
    /// thp: transparent huge pages, then base pages. base: base pages at once. none: the
    /// request fails.
    #[arg(
        long, value_name = "thp|base|none",
        value_parser = ["thp", "base", "none"], hide_possible_values = true,
    )]
    pub(crate) fallback: Option<String>,

    /// Leave text, data and bss alone
    ///
    /// Ignores the marks in the file, too. WORD has no meaning.
    #[arg(
        long, value_name = "WORD",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub(crate) disable: Option<String>,

    /// Share one copy of the text
    ///
    /// All processes of the program use the same copy, if its text must be copied.
    #[arg(long)]
    pub(crate) share_text: bool,

    /// Don't reserve pool pages (MAP_NORESERVE)
    #[arg(long)]
    pub(crate) no_reserve: bool,
}

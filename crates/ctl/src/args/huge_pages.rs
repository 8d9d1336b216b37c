//! What goes on huge pages.

use clap::Args;

use super::DEFAULT;
use super::given::{NOT_EMITTED, PID_TOO};

/// What goes on huge pages.
#[derive(Debug, Args)]
#[command(next_help_heading = "What goes on huge pages")]
pub struct Segments {
    /// Choose by what is known of the program, and say what was chosen and why;
    /// other options count besides, and before it
    #[arg(long, group = NOT_EMITTED)]
    pub auto: bool,

    /// Put code and read-only data on huge pages: those of the file itself, of
    /// the default size, of SIZE, or transparent ones; where text is a copy, some
    /// crash reports lose names: see hugeedit --align
    #[arg(
        long, group = PID_TOO, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --text-libs stays so.
        aliases = ["te", "tex"],
    )]
    pub text: Option<String>,

    /// The code of shared libraries, too; implies --text
    #[arg(long)]
    pub text_libs: bool,

    /// Put initialised data on huge pages, and bss with it
    #[arg(
        long, group = PID_TOO, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub data: Option<String>,

    /// Put data that starts as zero on huge pages, and data with it; where both
    /// have a size, that of --data counts
    #[arg(
        long, group = PID_TOO, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --budget stays so.
        alias = "b",
    )]
    pub bss: Option<String>,

    /// Put what malloc hands out on huge pages: of the default size, of SIZE,
    /// or transparent ones
    #[arg(
        long, group = PID_TOO, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --heap-engine stays so.
        alias = "hea",
    )]
    pub heap: Option<String>,

    /// Who serves the heap: arena (our malloc; the default) or libc (the
    /// program's own glibc, told by GLIBC_TUNABLES; the default for static
    /// programs)
    #[arg(
        long, value_name = "libc|arena",
        value_parser = ["libc", "arena"], hide_possible_values = true,
    )]
    pub heap_engine: Option<String>,

    /// Put shared memory on huge pages: shmget, shared anonymous mappings, and files in
    /// memory on transparent ones
    #[arg(
        long, group = PID_TOO, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub shm: Option<String>,

    /// Put large private memory that the program maps by itself on transparent huge
    /// pages, as its own allocator or virtual machine does; with a SIZE, too, since
    /// pages of a pool cannot be freed in part
    #[arg(
        long, group = PID_TOO, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --anon-min stays so.
        aliases = ["a", "an", "ano"],
    )]
    pub anon: Option<String>,

    /// With --anon: mappings of this length and more; one huge page by default
    #[arg(long, value_name = "SIZE")]
    pub anon_min: Option<String>,

    /// Put the main thread's stack and those of its threads on transparent huge pages;
    /// with a SIZE, too, since pages of a pool have no place in a stack that grows. With
    /// --pid: the main thread's
    #[arg(
        long, group = PID_TOO, value_name = "SIZE|thp",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --stack-depth stays so.
        alias = "stac",
    )]
    pub stack: Option<String>,

    /// With --stack: so much of each stack is there before it is used
    #[arg(long, value_name = "BYTES")]
    pub stack_depth: Option<String>,

    /// The heap on transparent huge pages, as --heap=thp
    #[arg(
        long, group = PID_TOO,
        // What was unambiguous before there was --thp-policy stays so.
        alias = "th",
    )]
    pub thp: bool,

    /// Transparent huge pages of the program and of all that it starts: always (bans
    /// are lifted, one that was inherited and the program's own), advised (only where it asks for them;
    /// Linux 6.18) or never
    #[arg(
        long, value_name = "always|advised|never",
        value_parser = ["always", "advised", "never"], hide_possible_values = true,
    )]
    pub thp_policy: Option<String>,

    /// What follows when huge pages run out: thp (transparent ones, then base
    /// pages; the default), base (base pages at once) or none (the request
    /// fails)
    #[arg(
        long, value_name = "thp|base|none",
        value_parser = ["thp", "base", "none"], hide_possible_values = true,
    )]
    pub fallback: Option<String>,

    /// Leave text, data and bss where they are, also those that are marked in
    /// the file; WORD has no meaning
    #[arg(
        long, value_name = "WORD",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub disable: Option<String>,

    /// One copy of the text for all processes that run the program, where it
    /// must be copied
    #[arg(long)]
    pub share_text: bool,

    /// Let the kernel promise no pages of a pool beforehand
    #[arg(long)]
    pub no_reserve: bool,
}

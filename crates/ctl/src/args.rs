//! The command line as it is written: nothing is checked beyond its form.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, ValueHint};

/// The value of an option that takes a size, when it is given without one.
pub const DEFAULT: &str = "default";

/// The value of `--report` without a file.
pub const TERMINAL: &str = "-";

const EXAMPLES: &str = "\
Examples:
  hugectl --heap ./solver input         heap on huge pages, from the pool or transparent
  hugectl --heap=1GB ./solver input     the same, on 1 GB pages first
  hugectl --thp python3 job.py          transparent huge pages only; needs no pool
  hugectl --text python3 job.py         code on huge pages, those of its file first
  hugectl --data --bss ./solver input   what a program has static
  hugectl --shm pg_ctl -D data start    PostgreSQL's shared memory (as its user)
  hugectl --heap --limit=1/8 ./solver   at most one eighth of the pool
  hugectl --heap --report ./solver      and say at the end what was huge
  hugectl --require=heap ./solver       on huge pages, or not at all
  hugectl --status postgres             what running programs have on huge pages
  hugectl --pid 1234                    a running program's memory, as root
  hugectl --heap --explain ./solver     what it would get, what falls short and why
  hugectl --heap --dry-run ./solver     show what would be done
  hugectl --emit=systemd --heap UNIT    a drop-in, for what systemd starts

Sizes are those of the machine's pools (see hugeadm --page-sizes-all).
Exit status: 125 if hugectl itself fails, 126 if PROGRAM cannot be run,
127 if it is not found, else that of PROGRAM. See also hugectl(8).";

/// Start a program with its memory on huge pages, and prove it.
#[derive(Debug, Parser)]
#[command(
    name = "hugectl",
    version,
    override_usage = "hugectl [OPTION]... PROGRAM [ARGUMENT]...\n       hugectl --status PID|NAME|all... [--tree] [--sizes|--totals] [--watch] [--json]\n       hugectl --pid PID|NAME[,...] [OPTION]...\n       hugectl --emit=systemd|environment|docker|kubernetes [OPTION]... [UNIT|PROGRAM]",
    after_help = EXAMPLES,
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true,
)]
pub struct Args {
    /// Put code and read-only data on huge pages: those of the file itself, of
    /// the default size, of SIZE, or transparent ones
    #[arg(
        long, value_name = "SIZE|thp", help_heading = "What goes on huge pages",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --text-libs stays so.
        aliases = ["te", "tex"],
    )]
    pub text: Option<String>,

    /// The code of shared libraries, too; implies --text
    #[arg(long, help_heading = "What goes on huge pages")]
    pub text_libs: bool,

    /// Put initialised data on huge pages, and bss with it
    #[arg(
        long, value_name = "SIZE|thp", help_heading = "What goes on huge pages",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub data: Option<String>,

    /// Put data that starts as zero on huge pages, and data with it; where both
    /// have a size, that of --data counts
    #[arg(
        long, value_name = "SIZE|thp", help_heading = "What goes on huge pages",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --budget stays so.
        alias = "b",
    )]
    pub bss: Option<String>,

    /// Put what malloc hands out on huge pages: of the default size, of SIZE,
    /// or transparent ones
    #[arg(
        long, value_name = "SIZE|thp", help_heading = "What goes on huge pages",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
        // What was unambiguous before there was --heap-engine stays so.
        alias = "hea",
    )]
    pub heap: Option<String>,

    /// Who serves the heap: arena (our malloc; the default) or libc (the
    /// program's own glibc, told by GLIBC_TUNABLES; the default for static
    /// programs)
    #[arg(
        long, value_name = "libc|arena", help_heading = "What goes on huge pages",
        value_parser = ["libc", "arena"], hide_possible_values = true,
    )]
    pub heap_engine: Option<String>,

    /// Put shared memory on huge pages: shmget, shared anonymous mappings
    #[arg(
        long, value_name = "SIZE|thp", help_heading = "What goes on huge pages",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub shm: Option<String>,

    /// The heap on transparent huge pages, as --heap=thp
    #[arg(
        long, help_heading = "What goes on huge pages",
        // What was unambiguous before there was --thp-policy stays so.
        alias = "th",
    )]
    pub thp: bool,

    /// Transparent huge pages of the program and of all that it starts: always (a
    /// ban that was inherited is lifted), advised (only where it asks for them;
    /// Linux 6.18) or never
    #[arg(
        long, value_name = "always|advised|never", help_heading = "What goes on huge pages",
        value_parser = ["always", "advised", "never"], hide_possible_values = true,
    )]
    pub thp_policy: Option<String>,

    /// What follows when huge pages run out: thp (transparent ones, then base
    /// pages; the default), base (base pages at once) or none (the request
    /// fails)
    #[arg(
        long, value_name = "thp|base|none", help_heading = "What goes on huge pages",
        value_parser = ["thp", "base", "none"], hide_possible_values = true,
    )]
    pub fallback: Option<String>,

    /// Leave text, data and bss where they are, also those that are marked in
    /// the file; WORD has no meaning
    #[arg(
        long, value_name = "WORD", help_heading = "What goes on huge pages",
        num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT,
    )]
    pub disable: Option<String>,

    /// One copy of the text for all processes that run the program, where it
    /// must be copied
    #[arg(long, help_heading = "What goes on huge pages")]
    pub share_text: bool,

    /// Let the kernel promise no pages of a pool beforehand
    #[arg(long, help_heading = "What goes on huge pages")]
    pub no_reserve: bool,

    /// Each process takes at most so much of the pools for its private memory:
    /// SIZE in all, or one part of N of each pool
    #[arg(long, value_name = "SIZE|1/N", help_heading = "How much, and for whom")]
    pub limit: Option<String>,

    /// Only programs of these names get huge pages, not the shells and starters
    /// that lead to them
    #[arg(
        long,
        value_name = "NAME[,NAME]",
        help_heading = "How much, and for whom"
    )]
    pub only: Option<OsString>,

    /// Only PROGRAM gets huge pages, not the programs that it starts
    #[arg(long, help_heading = "How much, and for whom")]
    pub no_inherit: bool,

    /// Do not start the program, or fail its request, where less of a segment (text,
    /// data, bss, heap, shm) is on huge pages: PERCENT of it, or all that lies in
    /// whole huge pages; asks for the segment, too
    #[arg(long, value_name = "SEGMENT[:PERCENT],...", help_heading = "Proof")]
    pub require: Option<String>,

    /// Write /tmp/perf-PID.map where text is a copy, so that perf finds its
    /// symbols
    #[arg(long, help_heading = "Proof")]
    pub perf_map: bool,

    /// When the program ends, say what was on huge pages: a table on standard
    /// error, or JSON lines appended to FILE
    #[arg(
        long, value_name = "FILE", help_heading = "Proof",
        num_args = 0..=1, require_equals = true, default_missing_value = TERMINAL,
        value_hint = ValueHint::FilePath,
    )]
    pub report: Option<PathBuf>,

    /// Say what running processes have on huge pages: by number, by name, or all
    /// that have any
    #[arg(
        long,
        value_name = "PID|NAME|all",
        help_heading = "Proof",
        num_args = 1..,
        allow_negative_numbers = true
    )]
    pub status: Vec<String>,

    /// With --status: the processes that these have started, too
    #[arg(long, help_heading = "Proof")]
    pub tree: bool,

    /// With --status, as root: what sizes of folios really lie in each segment,
    /// multi-size THP included
    #[arg(long, help_heading = "Proof")]
    pub sizes: bool,

    /// With --status: only what each process has in all, which the kernel adds up; cheap
    /// where there are many processes or mappings
    #[arg(long, help_heading = "Proof")]
    pub totals: bool,

    /// With --status or --pid: again and again, each SECONDS, until the processes
    /// have ended
    #[arg(
        long, value_name = "SECONDS", help_heading = "Proof",
        num_args = 0..=1, require_equals = true, default_missing_value = "2",
    )]
    pub watch: Option<String>,

    /// Put the memory of running programs on transparent huge pages: by number or
    /// by name; their heap, stack, bss and other private memory, or those of
    /// --text, --data, --bss, --heap, --stack, --shm and --anon that are given
    #[arg(
        long,
        value_name = "PID|NAME[,...]",
        help_heading = "Programs that run already",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub pid: Vec<String>,

    /// With --pid: private memory that the program has mapped by itself, or its
    /// allocator or virtual machine
    #[arg(long, help_heading = "Programs that run already")]
    pub anon: bool,

    /// With --pid: the main thread's stack
    #[arg(long, help_heading = "Programs that run already")]
    pub stack: bool,

    /// With --pid: take at most so much of one CPU; 25 by default
    #[arg(
        long, value_name = "PERCENT", help_heading = "Programs that run already",
        value_parser = clap::value_parser!(u8).range(1..=100),
    )]
    pub budget: Option<u8>,

    /// With --pid: the processes that these have started, too
    #[arg(long, help_heading = "Programs that run already")]
    pub children: bool,

    /// Not possible: says so, and why it is not needed
    #[arg(long, hide = true)]
    pub undo: bool,

    /// What goes to the terminal as JSON
    #[arg(long, help_heading = "Proof")]
    pub json: bool,

    /// Print what would be done, as shell commands, and do nothing
    #[arg(long, help_heading = "Proof")]
    pub dry_run: bool,

    /// Say what each segment would get, what would fall short, why, and what
    /// mends it, and do nothing; status 0 when all that is asked for will be
    /// had, else 3
    #[arg(long, help_heading = "Proof")]
    pub explain: bool,

    /// Print what tells a service or a container of all this, in which hugectl
    /// starts nothing: a drop-in for a UNIT of systemd, lines of an environment
    /// file (with PROGRAM or without), options of docker run, parts of a pod
    #[arg(
        long, value_name = "systemd|environment|docker|kubernetes", help_heading = "Proof",
        value_parser = ["systemd", "environment", "docker", "kubernetes"], hide_possible_values = true,
        require_equals = true,
    )]
    pub emit: Option<String>,

    /// With --status, --dry-run or --explain: read the kernel's state below DIR
    #[arg(long, value_name = "DIR", help_heading = "Proof", value_hint = ValueHint::DirPath)]
    pub sysroot: Option<PathBuf>,

    /// Set the variables only, for a program linked with the library
    #[arg(long, help_heading = "The library", overrides_with = "force_preload")]
    pub no_preload: bool,

    /// Preload even where it looks useless, or unwise for this program
    #[arg(
        long, help_heading = "The library", overrides_with = "no_preload",
        // What was unambiguous before there was --fallback stays so.
        alias = "f",
    )]
    pub force_preload: bool,

    /// Take the library from this directory, or from the prefix it is
    /// installed below
    #[arg(long, value_name = "PREFIX", help_heading = "The library", value_hint = ValueHint::DirPath)]
    pub library_path: Option<PathBuf>,

    /// Name the library only, and let the loader find it
    #[arg(long, help_heading = "The library", overrides_with = "library_path")]
    pub library_use_path: bool,

    /// Say more: what was found and decided
    #[arg(
        short = 'v', help_heading = "Messages", action = ArgAction::Append,
        num_args = 0, default_missing_value = "",
    )]
    pub louder: Vec<String>,

    /// Say less
    #[arg(
        short = 'q', help_heading = "Messages", action = ArgAction::Append,
        num_args = 0, default_missing_value = "",
    )]
    pub quieter: Vec<String>,

    /// Say as much as N tells: 0 nothing, 1 errors, 2 warnings (the default),
    /// 3 what was found and decided, 4 all; 99 for the program's library, too
    #[arg(
        long, value_name = "N", help_heading = "Messages", value_parser = clap::value_parser!(u8).range(0..=99),
        // What was unambiguous before there was --version stays so.
        aliases = ["v", "ve", "ver"],
    )]
    pub verbose: Option<u8>,

    /// Keep messages, also those of the libraries in all that the program starts,
    /// off standard error: append them to FILE, or write them to a descriptor that
    /// is open
    #[arg(long, value_name = "FILE|FD", help_heading = "Messages", value_hint = ValueHint::FilePath)]
    pub messages: Option<OsString>,

    /// Print this help
    #[arg(long, short, help_heading = "Messages", action = ArgAction::Help)]
    help: Option<bool>,

    /// Print the version
    #[arg(long, help_heading = "Messages", action = ArgAction::Version)]
    version: Option<bool>,

    /// The program to start, and its arguments
    #[arg(
        value_name = "PROGRAM [ARGUMENT]", trailing_var_arg = true, hide = true,
        value_hint = ValueHint::CommandWithArguments,
    )]
    pub command: Vec<OsString>,

    /// How the verbosity changes, in the order written.
    #[arg(skip)]
    pub steps: Vec<Step>,

    /// Whether the last of `--heap` and `--thp` is `--thp`.
    #[arg(skip)]
    pub thp_last: bool,

    /// The words in front of the program.
    #[arg(skip)]
    pub options: Vec<OsString>,
}

/// A change of verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `-v`
    Louder,
    /// `-q`
    Quieter,
    /// `--verbose N`
    Exactly(u8),
}

/// Parses a whole command line, the name of the tool first.
///
/// # Errors
/// Those of clap, help and version among them.
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let argv: Vec<OsString> = argv.into_iter().collect();
    let matches = Args::command().try_get_matches_from(&argv)?;
    let mut args = Args::from_arg_matches(&matches)?;
    let options = argv.strip_suffix(args.command.as_slice());
    args.options = options
        .unwrap_or_default()
        .iter()
        .skip(1)
        .cloned()
        .collect();
    let mut steps = Vec::new();
    let louder = places(&matches, "louder").map(|at| (at, Step::Louder));
    let quieter = places(&matches, "quieter").map(|at| (at, Step::Quieter));
    steps.extend(louder.chain(quieter));
    if let (Some(level), Some(at)) = (args.verbose, places(&matches, "verbose").last()) {
        steps.push((at, Step::Exactly(level)));
    }
    steps.sort_by_key(|(at, _)| *at);
    args.steps = steps.into_iter().map(|(_, step)| step).collect();
    args.thp_last = places(&matches, "thp").last() > places(&matches, "heap").last();
    Ok(args)
}

/// Where an option is on the command line; nowhere, if it is a default.
fn places(matches: &ArgMatches, id: &str) -> impl Iterator<Item = usize> {
    let given = matches.value_source(id) == Some(ValueSource::CommandLine);
    let places = given.then(|| matches.indices_of(id)).flatten();
    places.into_iter().flatten()
}

#[cfg(test)]
mod tests;

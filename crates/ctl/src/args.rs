//! The command line as typed. Only its form is checked.

pub(crate) mod compare;
pub(crate) mod given;
mod library;
mod messages;
mod reports;
mod running;
mod scope;
mod segments;

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueHint};

pub(crate) use compare::Compare;
pub(crate) use given::Given;
pub(crate) use library::Library;
pub(crate) use messages::Messages;
pub use reports::Reports;
pub(crate) use running::Running;
pub(crate) use scope::Scope;
pub(crate) use segments::Segments;

/// The value of a size option that was given without a size.
pub const DEFAULT: &str = "default";

/// The value of `--report` without a file.
pub const TERMINAL: &str = "-";

const EXAMPLES: &str = "\
Examples:
  hugectl --heap ./solver input         heap: pool pages, else transparent ones
  hugectl --thp python3 job.py          heap: transparent only; needs no pool
  hugectl --text python3 job.py         code: huge pages of its file first
  hugectl --shm pg_ctl -D data start    PostgreSQL's shared memory
  hugectl --anon java -jar server.jar   the heap of a virtual machine
  hugectl --auto redis-server           options known to suit Redis
  hugectl --heap --report ./solver      print at the end what was huge
  hugectl --require=heap ./solver       huge pages, or don't start
  hugectl --compare --heap ./solver     is it faster than without?
  hugectl --heap --explain ./solver     predict pages, shortfalls and cures
  hugectl --status postgres             look at running processes
  hugectl --pid 1234                    move a running process, as root
  hugectl --emit=systemd --heap UNIT    a drop-in for a service

SIZE is a page size of the machine (see hugeadm --page-sizes-all).
Exit status: 125 if hugectl itself fails, 126 if PROGRAM cannot be run,
127 if it is not found, else that of PROGRAM. All details: hugectl(8).";

/// Start a program with its memory on huge pages, and prove it.
#[derive(Debug, Parser)]
// Groups cost time at each start.
#[group(skip)]
#[command(
    name = "hugectl",
    version,
    override_usage = "hugectl [OPTION]... PROGRAM [ARGUMENT]...\n       hugectl --status PID|NAME|all... [OPTION]...\n       hugectl --pid PID|NAME[,...] [OPTION]...\n       hugectl --emit=systemd|environment|docker|kubernetes [OPTION]... [UNIT]",
    after_help = EXAMPLES,
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true,
)]
pub struct Args {
    #[command(flatten)]
    pub(crate) segments: Segments,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// Predictions, reports, and the status of processes.
    #[command(flatten)]
    pub reports: Reports,
    #[command(flatten)]
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) compare: Compare,
    #[command(flatten)]
    pub(crate) library: Library,
    #[command(flatten)]
    pub(crate) messages: Messages,

    /// The program to start, and its arguments
    #[arg(
        value_name = "PROGRAM [ARGUMENT]", trailing_var_arg = true, hide = true,
        value_hint = ValueHint::CommandWithArguments,
    )]
    pub command: Vec<OsString>,

    /// The options on the command line.
    #[arg(skip)]
    pub(crate) given: Given,

    /// Changes of verbosity, in the order written.
    #[arg(skip)]
    pub verbosity_changes: Vec<VerbosityChange>,

    /// Whether the last of `--heap` and `--thp` is `--thp`.
    #[arg(skip)]
    pub(crate) thp_last: bool,

    /// The words before the program.
    #[arg(skip)]
    pub(crate) options: Vec<OsString>,
}

/// A change of verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerbosityChange {
    /// `-v`
    Louder,
    /// `-q`
    Quieter,
    /// `--verbose N`
    Exactly(u8),
}

/// Parses a command line whose first word is the name of the tool.
///
/// # Errors
/// Errors of clap, help and version among them.
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let argv: Vec<OsString> = argv.into_iter().collect();
    let mut command = Args::command();
    let mut matches = command.try_get_matches_from_mut(&argv)?;
    let louder = places(&matches, "louder").map(|at| (at, VerbosityChange::Louder));
    let quieter = places(&matches, "quieter").map(|at| (at, VerbosityChange::Quieter));
    let mut steps: Vec<(usize, VerbosityChange)> = louder.chain(quieter).collect();
    let verbose = places(&matches, "verbose").last();
    let thp_last = places(&matches, "thp").last() > places(&matches, "heap").last();
    let given = Given::of(&command, &matches);
    let mut args = Args::from_arg_matches_mut(&mut matches)?;
    // Leaked: freeing them takes long, and hugectl parses once.
    std::mem::forget((command, matches));
    args.given = given;
    args.thp_last = thp_last;
    let options = argv.strip_suffix(args.command.as_slice());
    args.options = options
        .unwrap_or_default()
        .iter()
        .skip(1)
        .cloned()
        .collect();
    if let (Some(level), Some(at)) = (args.messages.verbose, verbose) {
        steps.push((at, VerbosityChange::Exactly(level)));
    }
    steps.sort_by_key(|(at, _)| *at);
    args.verbosity_changes = steps.into_iter().map(|(_, step)| step).collect();
    Ok(args)
}

/// Returns the positions of an option on the command line.
fn places(matches: &ArgMatches, id: &str) -> impl Iterator<Item = usize> {
    let given = matches.value_source(id) == Some(ValueSource::CommandLine);
    let places = given.then(|| matches.indices_of(id)).flatten();
    places.into_iter().flatten()
}

#[cfg(test)]
mod tests;

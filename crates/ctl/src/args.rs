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

use clap::{CommandFactory, FromArgMatches, Parser, ValueHint};

pub(crate) use compare::Compare;
pub(crate) use given::Given;
pub(crate) use library::Library;
pub use messages::{Messages, Verbosity};
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
    /// Verbosity and destination of messages.
    #[command(flatten)]
    pub messages: Messages,

    /// The program to start, and its arguments
    #[arg(
        value_name = "PROGRAM [ARGUMENT]", trailing_var_arg = true, hide = true,
        value_hint = ValueHint::CommandWithArguments,
    )]
    pub command: Vec<OsString>,

    /// The options on the command line.
    #[arg(skip)]
    pub(crate) given: Given,

    /// The words before the program.
    #[arg(skip)]
    pub(crate) options: Vec<OsString>,
}

/// Parses a command line whose first word is the name of the tool.
///
/// # Errors
/// Errors of clap, help and version among them.
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let argv: Vec<OsString> = argv.into_iter().collect();
    let mut command = Args::command();
    let mut matches = command.try_get_matches_from_mut(&argv)?;
    let given = Given::of(&command, &matches);
    let mut args = Args::from_arg_matches_mut(&mut matches)?;
    // Leaked: freeing them takes long, and hugectl parses once.
    std::mem::forget((command, matches));
    args.given = given;
    let options = argv.strip_suffix(args.command.as_slice());
    args.options = options
        .unwrap_or_default()
        .iter()
        .skip(1)
        .cloned()
        .collect();
    Ok(args)
}

#[cfg(test)]
mod tests;

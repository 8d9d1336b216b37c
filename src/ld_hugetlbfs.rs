//! ld.hugetlbfs: reads command line and environment, runs the linker, and returns the
//! exit status.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, Command, value_parser};
use hugetools_link::ld;
use hugetools_link::ld::caller::Caller;

use crate::console;
use crate::log::Log;
use crate::stdout;

const LOG: Log = Log {
    tool: "ld.hugetlbfs",
    verbosity: 2,
};

/// Runs ld.hugetlbfs with this process's environment. The first argument is the name it
/// was called by.
pub fn main(argv: Vec<OsString>) -> u8 {
    if asks_for_help(&argv) {
        // The linker's own help follows.
        let help = command().render_help().to_string() + "\nThe linker's own options:\n\n";
        if let Err(error) = console::out(&help) {
            stdout::unwritable(&LOG, &error);
            return ld::FAILED;
        }
    }
    let caller = Caller::this(argv, std::env::vars_os());
    let end = ld::run(&caller, &|warning| LOG.warning(warning));
    for warning in &end.warnings {
        LOG.warning(warning);
    }
    if let Some(failure) = &end.failure {
        LOG.error(&failure.to_string());
    }
    if let Some(signal) = end.signal {
        ld::die(signal);
    }
    end.status
}

/// Whether a person asks for help. A compiler calls `ld` and needs the real linker's
/// help, since it parses that.
fn asks_for_help(argv: &[OsString]) -> bool {
    let called = argv.first().and_then(|name| Path::new(name).file_name());
    let own = called.is_some_and(|name| name == "ld.hugetlbfs" || name == "ld-hugetlbfs");
    own && matches!(argv, [_, only] if only == "--help")
}

/// Returns our own options, for the man page and the completions. All others are the real
/// linker's.
pub fn command() -> Command {
    Command::new("ld.hugetlbfs")
        .about("Link programs for huge pages")
        .override_usage("ld.hugetlbfs [OPTIONS] [OPTIONS AND FILES OF THE LINKER]")
        .disable_help_flag(true)
        .arg(
            Arg::new("align")
                .long("hugetlbfs-align")
                .value_name("SIZE")
                .num_args(0..=1)
                .require_equals(true)
                .help("Put segments into huge pages of their own, and add the library")
                .long_help(
                    "Put segments into huge pages of their own, and add the library\n\n\
                     SIZE is a power of two; without it, it is that of the target machine.",
                ),
        )
        .arg(
            Arg::new("link")
                .long("hugetlbfs-link")
                .value_name("B|BDT")
                .require_equals(true)
                .value_parser(["B", "BDT"])
                .hide_possible_values(true)
                .help("The same, and mark bss and data (B), or text as well (BDT)"),
        )
        .arg(
            Arg::new("script-path")
                .long("hugetlbfs-script-path")
                .value_name("DIR")
                .require_equals(true)
                .value_parser(value_parser!(OsString))
                .action(ArgAction::Set)
                .help("Without effect: no linker scripts are used"),
        )
}

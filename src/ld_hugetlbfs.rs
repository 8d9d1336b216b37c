//! ld.hugetlbfs: reads command line and environment, runs the linker, and returns the exit status.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, Command, value_parser};
use hugetools_link::ld;
use hugetools_link::ld::caller::Caller;

use crate::console;
use crate::log::Log;
use crate::stdout;

const LOG: Log = Log::new("ld.hugetlbfs");

/// Runs ld.hugetlbfs with this process's environment. The first argument is the name of the tool.
pub fn main(argv: Vec<OsString>) -> u8 {
    if let Some(text) = own_text(&argv) {
        // The linker's own text follows.
        if let Err(error) = console::out(&text) {
            LOG.error(&stdout::unwritable(&error));
            return ld::FAILED;
        }
    }
    let caller = Caller::this(argv, std::env::vars_os());
    if caller.recursion {
        LOG.error(&ld::recursive_call().to_string());
        return ld::RECURSION;
    }
    match ld::run(&caller, &|warning| LOG.warning(warning)) {
        Ok(status) => status,
        Err(failure) => {
            LOG.error(&failure.to_string());
            ld::FAILED
        }
    }
}

/// Returns our part of the help or the version. A compiler calls us as `ld` and parses the real
/// linker's text, so ours is left out.
fn own_text(argv: &[OsString]) -> Option<String> {
    let called = argv.first().and_then(|name| Path::new(name).file_name())?;
    let [_, word] = argv else {
        return None;
    };
    match word.to_str()? {
        _ if called != "ld.hugetlbfs" && called != "ld-hugetlbfs" => None,
        "--help" => {
            let help = command().render_help();
            Some(format!("{help}\nThe linker's own options:\n\n"))
        }
        "--version" => Some(format!(
            "ld.hugetlbfs (hugetools) {}, with the linker:\n",
            env!("CARGO_PKG_VERSION")
        )),
        _ => None,
    }
}

/// Returns our own options, for the man page and the completions. The linker has the others.
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
                     SIZE is a power of two, at least 64kB. The default depends on the target \
                     machine.",
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

//! The options that were given, and where each has a meaning.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::compare::OPTIONS;

/// Options of `--status`.
const STATUS: &[&str] = &["--status", "--tree", "--sizes", "--totals", "--watch"];

/// Options of `--pid`.
const PID: &[&str] = &["--pid", "--budget", "--touched", "--children", "--watch"];

/// Options of a start that `--pid` takes, too.
const PID_TOO: &[&str] = &[
    "--text",
    "--data",
    "--bss",
    "--heap",
    "--shm",
    "--anon",
    "--stack",
    "--thp",
    "--dry-run",
];

/// Options that have a meaning with `--status`, with `--pid` and at a start.
const ANY: &[&str] = &["--json", "--color", "--verbose", "--sysroot"];

/// Options of a start that have no meaning with `--emit`.
const NOT_EMITTED: &[&str] = &[
    "--auto",
    "--no-inherit",
    "--json",
    "--dry-run",
    "--explain",
    "--sysroot",
];

/// Options that have no meaning with `--compare`.
const NOT_COMPARED: &[&str] = &[
    "--dry-run",
    "--explain",
    "--emit",
    "--sysroot",
    "--messages",
];

/// The options that were given by a long name, in the order of their definitions.
#[derive(Debug, Default)]
pub struct Given(Vec<String>);

impl Given {
    pub(super) fn of(command: &Command, matches: &ArgMatches) -> Given {
        let options = command.get_arguments().filter(|arg| {
            matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
        });
        let names = options.filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
        Given(names.collect())
    }

    fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|name| is_it(name))
    }

    /// Returns the first option that has no meaning with `--status`.
    pub fn not_of_status(&self) -> Option<&str> {
        self.find(|name| !STATUS.contains(&name) && !ANY.contains(&name))
    }

    /// Returns the first option that has no meaning with `--pid`.
    pub fn not_of_pid(&self) -> Option<&str> {
        self.find(|name| ![PID, PID_TOO, ANY].concat().contains(&name))
    }

    /// Returns the first option that has no meaning with `--emit`.
    pub fn not_emitted(&self) -> Option<&str> {
        self.find(|name| NOT_EMITTED.contains(&name))
    }

    /// Returns the first option that has no meaning with `--compare`.
    pub fn not_compared(&self) -> Option<&str> {
        self.find(|name| NOT_COMPARED.contains(&name))
    }

    /// Returns the first option that needs `--compare`.
    pub fn of_compare(&self) -> Option<&str> {
        self.find(|name| OPTIONS.contains(&name))
    }

    /// Returns the first option for running processes, and the options that it needs.
    pub fn of_running(&self) -> Option<(&str, &'static str)> {
        let name = self.find(|name| STATUS.contains(&name) || PID.contains(&name))?;
        Some(match (STATUS.contains(&name), PID.contains(&name)) {
            (true, true) => (name, "--status or --pid"),
            (true, false) => (name, "--status"),
            (false, _) => (name, "--pid"),
        })
    }
}

//! The given options, and the modes that accept them.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// Options of `--status`.
pub(crate) const STATUS: &[&str] = &["--status", "--tree", "--sizes", "--totals"];

/// Options of `--pid`.
pub(crate) const PID: &[&str] = &["--pid", "--budget", "--touched", "--children"];

/// Start options that `--pid` accepts, too.
pub(crate) const PID_TOO: &[&str] = &[
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

/// Options that `--status`, `--pid` and a start accept.
pub(crate) const ANY: &[&str] = &["--json", "--verbose", "--sysroot"];

/// Start options that `--emit` rejects.
pub(crate) const NOT_EMITTED: &[&str] = &[
    "--auto",
    "--no-inherit",
    "--json",
    "--dry-run",
    "--explain",
    "--sysroot",
];

/// Options that `--compare` rejects.
pub(crate) const NOT_COMPARED: &[&str] = &[
    "--dry-run",
    "--explain",
    "--emit",
    "--sysroot",
    "--messages",
];

/// The given options that have a long name, in the order of their definitions.
#[derive(Debug, Default)]
pub(crate) struct Given(Vec<String>);

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

    /// Returns the first option that is in a list.
    pub(crate) fn first_of(&self, list: &[&str]) -> Option<&str> {
        self.find(|name| list.contains(&name))
    }

    /// Returns the first option that is in none of these lists.
    pub(crate) fn first_not_of(&self, lists: &[&[&str]]) -> Option<&str> {
        self.find(|name| !lists.concat().contains(&name))
    }

    /// Returns the first option for running processes, and the option that it needs.
    pub(crate) fn of_running(&self) -> Option<(&str, &'static str)> {
        let of = |list, needed| self.first_of(list).map(|name| (name, needed));
        of(STATUS, "--status").or_else(|| of(PID, "--pid"))
    }
}

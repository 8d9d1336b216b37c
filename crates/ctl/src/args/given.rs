//! Which options were given, and where each has a meaning: its definition names the
//! groups, and an option without any is for programs that are started.

use clap::parser::ValueSource;
use clap::{ArgGroup, ArgMatches, Command, Id};

/// Options of `--status`.
pub const OF_STATUS: &str = "of_status";
/// Options of `--pid`.
pub const OF_PID: &str = "of_pid";
/// Options of a start that `--pid` takes, too.
pub const PID_TOO: &str = "pid_too";
/// Options that have a meaning everywhere.
pub const ANY: &str = "any";
/// Options of a start that have none with `--emit`.
pub const NOT_EMITTED: &str = "not_emitted";

/// The groups, for clap: their options exclude nothing.
pub(super) fn groups() -> [ArgGroup; 5] {
    [OF_STATUS, OF_PID, PID_TOO, ANY, NOT_EMITTED].map(|name| ArgGroup::new(name).multiple(true))
}

/// The options that were given by a long name, in the order of their definitions.
#[derive(Debug, Default)]
pub struct Given(Vec<GivenOption>);

/// One of them.
#[derive(Debug)]
struct GivenOption {
    name: String,
    groups: Vec<Id>,
}

impl Given {
    /// Of a command line.
    pub(super) fn of(command: &Command, matches: &ArgMatches) -> Given {
        let is_given =
            |id: &Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let given = command.get_arguments().filter(|arg| is_given(arg.get_id()));
        let options = given.filter_map(|arg| {
            let groups = command
                .get_groups()
                .filter(|group| group.get_args().any(|id| id == arg.get_id()));
            Some(GivenOption {
                name: format!("--{}", arg.get_long()?),
                groups: groups.map(|group| group.get_id().clone()).collect(),
            })
        });
        Given(options.collect())
    }

    /// The first that is in none of some groups.
    pub fn outside(&self, groups: &[&str]) -> Option<&str> {
        let outside = |option: &&GivenOption| !groups.iter().any(|group| option.is_in(group));
        Some(self.0.iter().find(outside)?.name.as_str())
    }

    /// The first that is in a group.
    pub fn inside(&self, group: &str) -> Option<&str> {
        let option = self.0.iter().find(|option| option.is_in(group))?;
        Some(option.name.as_str())
    }

    /// The first that is about running processes, and what it needs.
    pub fn of_running(&self) -> Option<(&str, &'static str)> {
        self.0.iter().find_map(|option| {
            let needed = match (option.is_in(OF_STATUS), option.is_in(OF_PID)) {
                (true, true) => "--status or --pid",
                (true, false) => "--status",
                (false, true) => "--pid",
                (false, false) => return None,
            };
            Some((option.name.as_str(), needed))
        })
    }
}

impl GivenOption {
    fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|id| id.as_str() == group)
    }
}

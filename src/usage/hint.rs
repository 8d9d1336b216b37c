//! The option that a word means: of this tool, or of the other one.

use clap::{Arg, Command, CommandFactory};

/// Returns the option that is named like this word, as a question, or nothing.
pub(crate) fn option(word: &str, command: &Command) -> String {
    let name = word.trim_start_matches('-').split('=').next();
    let name = name.unwrap_or_default();
    let has = |command: &Command| {
        let mut longs = command.get_arguments().filter_map(Arg::get_long);
        longs.any(|long| long == name)
    };
    if has(command) {
        return format!("; --{name}?");
    }
    let others = [
        hugetools_admin::args::Args::command(),
        hugetools_ctl::args::Args::command(),
    ];
    let other = others.iter().find(|other| has(other));
    other.map_or_else(String::new, |other| {
        format!("; {} --{name}?", other.get_name())
    })
}

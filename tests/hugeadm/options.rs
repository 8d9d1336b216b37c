//! Transcripts on recorded machines; every option has one.

use crate::support::{bless, session};
use clap::{Arg, CommandFactory};
use hugetools_admin::args::Args;

/// Machines whose transcripts contain every option: several nodes, and four page sizes.
const TRANSCRIBED: [&str; 2] = ["aarch64-4k", "x86_64-8node"];

#[test]
fn transcripts() {
    session::run_all("hugeadm");
}

#[test]
fn the_transcripts_try_every_option() {
    let command = Args::command();
    let options = command
        .get_arguments()
        .filter_map(Arg::get_long_and_visible_aliases);
    // These need no machine, are passed by the session, print too much, or are tested elsewhere.
    let others = [
        "apply",
        "bug-report",
        "check",
        "example-config",
        "help",
        "json",
        "rollback",
        "save",
        "sysroot",
        "version",
    ];
    let names: Vec<&str> = options
        .flatten()
        .filter(|name| !others.contains(name))
        .collect();
    assert!(names.len() > 40, "{names:?}");
    for machine in TRANSCRIBED {
        let text = bless::read_text(format!("tests/expected/hugeadm/options-{machine}.txt"));
        let lines = text.lines().filter(|line| line.starts_with("$ hugeadm "));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        for name in &names {
            let option = |word: &&str| {
                let given = word.trim_start_matches("--").split('=').next();
                given == Some(name) || (*name == "dry-run" && *word == "-d")
            };
            assert!(words.iter().any(option), "{machine}: --{name}");
        }
    }
}

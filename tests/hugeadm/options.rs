//! Every option on every recorded machine.

use crate::support::bless;
use crate::support::tool::hugeadm;
use crate::support::tree::{self, machines};
use clap::{Arg, CommandFactory};
use hugetools_admin::args::Args;

/// Machines whose transcripts contain every option: several nodes, and four page sizes.
const TRANSCRIBED: [&str; 2] = ["aarch64-4k", "x86_64-8node"];

fn transcript(machine: &str) -> String {
    bless::text(format!("tests/expected/hugeadm/options-{machine}.txt"))
}

/// Returns the command lines of a transcript without the tool's name.
fn commands(transcript: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = transcript.lines();
    lines.filter_map(|line| Some(line.strip_prefix("$ hugeadm ")?.split(' ').collect()))
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
        let text = transcript(machine);
        let words: Vec<&str> = commands(&text).flatten().collect();
        for name in &names {
            let option = |word: &&str| {
                let given = word.trim_start_matches("--").split('=').next();
                given == Some(name) || (*name == "dry-run" && *word == "-d")
            };
            assert!(words.iter().any(option), "{machine}: --{name}");
        }
    }
}

/// Runs the commands of one transcript on every machine, so that new recordings need no new
/// test. Each must end with one of the four exit statuses; all must leave a readable tree.
#[test]
fn no_option_crashes_on_any_machine() {
    let text = transcript("x86_64-8node");
    for machine in machines() {
        let dir = tree::machine(&machine);
        for words in commands(&text) {
            let ran = hugeadm(dir.path(), &words);
            assert!(
                (0..=3).contains(&ran.status),
                "{machine}: {words:?} {ran:?}"
            );
            let said = ran.status == 0 || ran.err.contains("hugeadm:");
            assert!(
                said && !ran.err.contains("panicked"),
                "{machine}: {words:?} {ran:?}"
            );
        }
        let ran = hugeadm(dir.path(), &["--explain", "--pool-list"]);
        assert_eq!(ran.status, 0, "{machine}: {ran:?}");
    }
}

//! Every option on every recorded machine.

use clap::{Arg, CommandFactory};
use hugetools_admin::args::Args;
use serde_json::Value;

use crate::support::bless;
use crate::support::tool::hugeadm;
use crate::support::tree::{self, machines};

/// Machines whose transcripts contain every option.
const TRANSCRIBED: [&str; 6] = [
    "aarch64-4k",
    "ppc64le-power8-hash",
    "ppc64le-power9-hash",
    "s390x",
    "x86_64-6.18-mthp",
    "x86_64-8node",
];

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
    // help.txt and version.txt have no machine; the session passes the tree itself; a bug
    // report is too long for a transcript.
    let others = ["bug-report", "help", "json", "sysroot", "version"];
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

/// Runs the commands of the transcripts on every machine, so that new recordings need no
/// new test. Each must end with one of the four exit statuses and leave a readable tree.
#[test]
fn every_option_works_on_every_machine() {
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
        let ran = hugeadm(
            dir.path(),
            &["--explain", "--print-persistent", "--pool-list"],
        );
        assert_eq!(ran.status, 0, "{machine}: {ran:?}");
    }
}

/// Commands from `--explain` can be run and are not suggested again.
#[test]
fn suggested_commands_resolve_the_finding() {
    let mut done = 0;
    for machine in machines() {
        let dir = tree::machine(&machine);
        let found = || -> Vec<Value> {
            let ran = hugeadm(dir.path(), &["--json", "--explain"]);
            let document: Value = serde_json::from_str(&ran.out).unwrap();
            document["findings"].as_array().unwrap().clone()
        };
        for finding in found() {
            for part in ["about", "fact", "consequence", "command"] {
                assert!(!finding[part].as_str().unwrap().is_empty(), "{finding}");
            }
            let command = finding["command"].as_str().unwrap();
            let Some(words) = command.strip_prefix("hugeadm ") else {
                continue;
            };
            let words: Vec<&str> = words.split(' ').collect();
            let ran = hugeadm(dir.path(), &words);
            assert_eq!(ran.status, 0, "{machine}: {command}: {ran:?}");
            done += 1;
            // Only settings are checked: a tree has no programs that could free pages.
            let mended = finding["about"] == "thp" && found().contains(&finding);
            assert!(!mended, "{machine}: {finding}");
        }
    }
    assert!(done > 10, "only {done} commands");
}

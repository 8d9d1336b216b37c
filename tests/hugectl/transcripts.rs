//! Replays the transcripts `tests/expected/hugectl/*.txt`: commands, each with its output (stdout
//! and stderr in order) and its exit status. `HUGETOOLS_BLESS=1 cargo test` rewrites outputs and
//! statuses; commands and comments stay.

use super::place::Place;
use crate::support::bless;

/// Runs the commands of a transcript and returns the new transcript.
fn replay(place: &Place, expected: &str) -> String {
    let mut text = String::new();
    let mut in_output = false;
    for line in expected.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let done = place.shell(&format!("exec 2>&1; {command}"));
            let out = place.normalize(&done.out);
            text.extend([line, "\n", &out, &format!("[{}]\n", done.status)]);
            in_output = true;
        } else if !in_output {
            text.extend([line, "\n"]);
        } else {
            // The exit status ends the output.
            in_output = !(line.starts_with('[') && line.ends_with(']'));
        }
    }
    text
}

fn compare(name: &str) {
    let place = Place::new();
    place.others_library("others");
    place.file("bin/script", "#!/bin/sh\necho script\n", 0o755);
    // Large segments hold whole huge pages wherever the linker puts them.
    let large = include_str!("../programs/segments.c");
    place.build("large", large, &["-pie", "-fPIE"]);
    place.build("fixed", large, &["-no-pie", "-fno-pie"]);
    let path = format!("tests/expected/hugectl/{name}");
    bless::compare(&path, &replay(&place, &bless::read_text(&path))).unwrap();
}

#[test]
fn dry_runs() {
    compare("dry-run.txt");
}

#[test]
fn preflight() {
    compare("preflight.txt");
}

#[test]
fn explanations() {
    compare("explain.txt");
}

#[test]
fn bad_input() {
    compare("bad-input.txt");
}

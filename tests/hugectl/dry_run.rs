//! No system call of a dry run or an explanation changes anything.

use super::place::Place;
use crate::support::bless;
use crate::support::needs::programs;
use crate::support::traced::{changes, strace_words};

/// Returns the command lines with `--dry-run` or `--explain` in a transcript.
fn lines(name: &str) -> Vec<String> {
    let text = bless::read_text(format!("tests/expected/hugectl/{name}"));
    let lines = text.lines().filter_map(|line| line.strip_prefix("$ "));
    let plans = lines.filter(|line| line.contains("--dry-run") || line.contains("--explain"));
    plans.map(str::to_owned).collect()
}

/// Asserts that none of a transcript's dry runs and explanations changes anything.
fn assert_no_changes(name: &str, min_lines: usize) {
    let test = format!("no system call changes anything: {name}");
    if !programs(&test, &["strace"]) {
        return;
    }
    let place = Place::new();
    place.others_library("others");
    place.file("bin/script", "#!/bin/sh\necho script\n", 0o755);
    let large = include_str!("../programs/segments.c");
    place.build("large", large, &["-pie", "-fPIE"]);
    place.build("fixed", large, &["-no-pie", "-fno-pie"]);
    let trace = place.path("trace");
    let hugectl = format!("{} hugectl", strace_words(&trace));
    let lines = lines(name);
    assert!(lines.len() >= min_lines, "{}", lines.len());
    for line in lines {
        // Replaces only the first match, since a path may contain the word, too.
        let traced = line.replacen("hugectl ", &format!("{hugectl} "), 1);
        place.shell(&traced);
        let changes = changes(&trace);
        assert!(changes.is_empty(), "{line}: {changes:#?}");
    }
}

#[test]
fn dry_runs_change_nothing() {
    assert_no_changes("dry-run.txt", 10);
}

#[test]
fn explanations_change_nothing() {
    assert_no_changes("explain.txt", 3);
}

/// Without an installed library, a start would write the bundled one to disk.
#[test]
fn the_bundled_library_is_not_written() {
    if !programs("a dry run of hugectl alone", &["strace"]) {
        return;
    }
    let place = Place::new();
    std::fs::remove_dir_all(place.path("prefix/lib")).unwrap();
    let trace = place.path("trace");
    let hugectl = format!("{} hugectl", strace_words(&trace));
    for mode in ["--dry-run", "--explain"] {
        let options = "--text --data --bss --heap --shm";
        let ran = place.shell(&format!("{hugectl} {mode} {options} sh -c true"));
        // 3 means that a segment gets fewer huge pages than requested.
        assert!([0, 3].contains(&ran.status), "{ran:?}");
        let changes = changes(&trace);
        assert!(changes.is_empty(), "{mode}: {changes:#?}");
    }
}

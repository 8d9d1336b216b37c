//! Transcripts: commands on a copy of a recorded machine, with their output, their exit
//! status and their changes to the tree.
//!
//! ```text
//! machine x86_64-8node
//!
//! ## a heading, kept as it is; `## fresh` starts with a new copy
//! $ hugeadm --pool-pages-min DEFAULT:100
//! standard output as it is
//! 2> standard error
//! [status 0 is not shown]
//! ~ /proc/sys/vm/nr_hugepages: 74 -> 100
//! ```
//!
//! To add a command, write a `$` line; `HUGETOOLS_BLESS=1 cargo test` writes the rest.
//! `--sysroot` is implied; DIR stands for the tree and VERSION for the version.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::tool::Run;
use super::{bless, tool, tree};

/// Runs all transcripts in a directory below `tests/expected`.
pub(crate) fn run_all(dir: &str) {
    let dir = PathBuf::from("tests/expected").join(dir);
    let mut names: Vec<_> = std::fs::read_dir(bless::project(&dir))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert!(!names.is_empty(), "{} is empty", dir.display());
    let differ: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let path = dir.join(name);
            bless::compare(&path, &run(&bless::read_text(&path))).err()
        })
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Runs the commands of a transcript and returns the new transcript.
fn run(transcript: &str) -> String {
    let mut out = String::new();
    let first = transcript.lines().next().unwrap_or_default();
    let machine = first
        .strip_prefix("machine ")
        .expect("the first line names a machine");
    let mut dir = tree::machine(machine);
    out.push_str(first);
    out.push('\n');
    for line in transcript.lines() {
        if line.starts_with("## ") {
            if line.starts_with("## fresh") {
                dir = tree::machine(machine);
            }
            write!(out, "\n{line}\n").unwrap();
        } else if let Some(command) = line.strip_prefix("$ ") {
            write!(out, "\n{line}\n").unwrap();
            out += &run_command(command, dir.path());
        }
    }
    out
}

fn run_command(command: &str, dir: &Path) -> String {
    let before = tree::snapshot(dir);
    let mut words = split(command).into_iter().peekable();
    let mut env = Vec::new();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
        env.push((name.to_owned(), value.to_owned()));
        words.next();
    }
    let mut command = tool::tool(&words.next().expect("a command"));
    let words: Vec<String> = words.collect();
    if !words.iter().any(|word| word.starts_with("--sysroot")) {
        command.arg("--sysroot").arg(dir);
    }
    let place = dir.to_str().unwrap();
    let words = words.iter().map(|word| word.replace("DIR", place));
    let ran = command.args(words).envs(env).ran();
    let mut out = ran.out.replace(place, "DIR");
    for version in ["hugeadm ", "pagesize ", "\"version\": \"", "\"version\":\""] {
        let now = format!("{version}{}", env!("CARGO_PKG_VERSION"));
        out = out.replace(&now, &format!("{version}VERSION"));
    }
    for line in ran.err.replace(place, "DIR").lines() {
        writeln!(out, "2> {line}").unwrap();
    }
    if ran.status != 0 {
        writeln!(out, "[status {}]", ran.status).unwrap();
    }
    for line in tree::difference(&before, &tree::snapshot(dir)) {
        writeln!(out, "~ {line}").unwrap();
    }
    out
}

/// Splits a command at blanks outside single quotes.
fn split(command: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

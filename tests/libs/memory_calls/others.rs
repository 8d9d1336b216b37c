//! Replaced calls that are made seldom, with memory of each kind: answers, errors and
//! contents are those of a plain run. And none is left that no program here makes.
#![expect(clippy::disallowed_methods, reason = "tests read their own files")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

fn run(options: &[&str], program: &Path) -> Ran {
    let mut command = match options {
        [] => Command::new(program),
        options => {
            let mut command = tool("hugectl");
            command.args(options).arg(program);
            command
        }
    };
    command.output().unwrap().into()
}

/// A program that says the same, and ends so, with each pool and these options.
fn is_as_without(name: &str, status: i32) {
    let Some(program) = build(name, Libc::Glibc, &[]) else {
        return;
    };
    let plain = run(&[], &program);
    assert!(
        plain.status == status && plain.out.lines().count() > 70,
        "{plain:?}"
    );
    let Some(live) = machine("other calls") else {
        return;
    };
    for (pool, options) in [
        (30, &["-q", "--heap", "--shm", "--anon", "--stack"][..]),
        (3, &["-q", "--heap", "--shm"]),
        (0, &["-q", "--heap=thp", "--shm=thp", "--anon"]),
        (0, &["-q", "--report=/dev/null"]),
    ] {
        live.set_pool(pool);
        let ran = run(options, &program);
        assert_eq!(ran, plain, "{pool} {options:?}");
        assert_eq!(live.free_pages_at_last(pool), pool);
    }
}

#[test]
fn locks_keys_reads_and_aligned_blocks_are_as_without() {
    is_as_without("other_calls", 5);
}

#[test]
fn calls_by_names_that_no_header_has_are_as_without() {
    is_as_without("seldom_calls", 0);
}

#[test]
fn what_the_kernel_tells_is_as_without() {
    is_as_without("told_calls", 0);
}

/// The text of each program in C below a folder.
fn texts(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap();
    let text = entries.map(|entry| {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            None => texts(&path),
            Some("c" | "cc" | "h") => fs::read_to_string(path).unwrap(),
            Some(_) => String::new(),
        }
    });
    text.collect()
}

/// Sanitizers ask that themselves, as programs that are built with one are run.
const ASKED_BY_OTHERS: &str = "__asan_default_options";

#[test]
fn each_call_that_is_replaced_is_made_by_a_program_here() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = texts(&own.join("tests/programs"));
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
    let words: std::collections::BTreeSet<&str> = text.split(|byte| !is_part(byte)).collect();
    for list in ["libhugetlbfs.so.txt", "libhugetlbfs_heap.so.txt"] {
        let list = fs::read_to_string(own.join("tests/expected/libs").join(list)).unwrap();
        let calls = list.lines().filter_map(|line| line.strip_prefix("T "));
        let names: Vec<&str> = calls.map(|name| name.split('@').next().unwrap()).collect();
        assert!(names.len() > 50, "{names:?}");
        let missing = names.iter().filter(|name| !words.contains(*name));
        let missing: Vec<_> = missing.filter(|name| **name != ASKED_BY_OTHERS).collect();
        assert!(missing.is_empty(), "no program calls {missing:?}");
    }
}

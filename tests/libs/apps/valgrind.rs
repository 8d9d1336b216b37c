//! Under valgrind: it finds nothing that it would not find without us, whether
//! it serves malloc or we do, and whichever starts the other.

use std::path::Path;
use std::process::Command;

use crate::support::live::{machine, skip};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, hugectl};

/// Any error ends with status 9.
const CHECK: [&str; 4] = [
    "valgrind",
    "-q",
    "--error-exitcode=9",
    "--trace-children=yes",
];

/// Our malloc stays.
const OURS: &str = "--soname-synonyms=somalloc=nouserintercepts";

fn run(words: &[&str], program: &Path, seconds: &str) -> Ran {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program).args([seconds, "60"]);
    command.env("LC_ALL", "C").output().unwrap().into()
}

#[test]
fn valgrind_finds_no_fault_in_us() {
    let Some(live) = machine("valgrind") else {
        return;
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind", "there is none").unwrap_or(());
    }
    let Some(program) = build("torture", Libc::Glibc, &[]) else {
        return;
    };
    let ours = [hugectl().to_str().unwrap(), "--heap", "-q"];
    for pages in [0, 60] {
        live.set_pool(pages);
        let with_our_malloc = [&ours[..], &CHECK, &[OURS]].concat();
        let ways = [
            (with_our_malloc, "3"),
            ([&ours[..], &CHECK].concat(), "1"),
            ([&CHECK[..], &ours].concat(), "1"),
        ];
        for (words, seconds) in ways {
            let ran = run(&words, &program, seconds);
            assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
            assert!(ran.out.contains(" refused=0 "), "{words:?}: {ran:?}");
        }
        assert_eq!(live.free_pages_at_last(pages), pages);
    }
}

/// DRD and helgrind find nothing either, in threads with stacks that were asked for. DRD
/// does not know a mutex that mimalloc destroys at the end.
#[test]
fn what_looks_for_races_finds_none_in_us() {
    let Some(_live) = machine("valgrind") else {
        return;
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind", "there is none").unwrap_or(());
    }
    let Some(program) = build("raced", Libc::Glibc, &[]) else {
        return;
    };
    let ours = [hugectl().to_str().unwrap(), "--stack", "-q"];
    for (tool, option) in [("--tool=drd", "--data"), ("--tool=helgrind", "--heap=thp")] {
        let words = [&ours[..], &[option], &CHECK, &[tool]].concat();
        let ran = run(&words, &program, "1");
        assert_eq!(
            (ran.status, &*ran.out),
            (0, "threads and a fork\n"),
            "{words:?}: {ran:?}"
        );
    }
}

//! valgrind finds no error in us, with our malloc under hugectl and with its malloc around hugectl.

use std::path::Path;
use std::process::Command;

use crate::support::live::machine;
use crate::support::needs::programs;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, hugectl};

/// Any error ends with status 9.
const CHECK: [&str; 4] = [
    "valgrind",
    "-q",
    "--error-exitcode=9",
    "--trace-children=yes",
];

/// Keeps our malloc.
const OURS: &str = "--soname-synonyms=somalloc=nouserintercepts";

fn run(words: &[&str], program: &Path) -> Ran {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program).args(["1", "60"]);
    command.env("LC_ALL", "C").ran()
}

#[test]
fn valgrind_finds_no_error() {
    if !programs("valgrind", &["valgrind"]) {
        return;
    }
    let Some(live) = machine("valgrind") else {
        return;
    };
    let Some(program) = build("torture", Libc::Glibc, &[]) else {
        return;
    };
    live.set_pool(60);
    let ours = [hugectl().to_str().unwrap(), "--heap", "-q"];
    for words in [
        [&ours[..], &CHECK, &[OURS]].concat(),
        [&CHECK[..], &ours].concat(),
    ] {
        let ran = run(&words, &program);
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
        assert!(ran.out.contains(" refused=0 "), "{words:?}: {ran:?}");
    }
    assert_eq!(live.wait_for_free_pages(60), 60);
}

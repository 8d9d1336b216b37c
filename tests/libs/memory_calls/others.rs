//! Replaced calls that are made seldom, with memory of each kind: answers, errors and
//! contents are those of a plain run.

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

#[test]
fn locks_keys_reads_and_aligned_blocks_are_as_without() {
    let Some(live) = machine("other calls") else {
        return;
    };
    let Some(program) = build("other_calls", Libc::Glibc, &[]) else {
        return;
    };
    let plain = run(&[], &program);
    assert!(
        plain.status == 5 && plain.out.lines().count() > 100,
        "{plain:?}"
    );
    for (pool, options) in [
        (30, &["-q", "--heap", "--shm", "--anon", "--stack"][..]),
        (3, &["-q", "--heap", "--shm"]),
        (0, &["-q", "--heap=thp", "--shm=thp", "--anon"]),
        (0, &["-q", "--report=/dev/null"]),
    ] {
        live.set_pool(pool);
        let ran = run(options, &program);
        assert_eq!(ran, plain, "{pool} {options:?}");
        assert_eq!(live.free_pages(), pool);
    }
}

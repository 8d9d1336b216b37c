//! `--anon` for programs that take memory in many small mappings, each where the kernel
//! lays it: what they fill together is put together, what they hardly use is not.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::program::{Libc, build};
use crate::support::still::{Still, without_pool};
use crate::support::tool::{Ran, tool};

fn ready(test: &str) -> Option<(Still, PathBuf)> {
    let live = without_pool(test)?;
    let program = build("rows", Libc::Glibc, &[])?;
    live.thp_serves().then_some((live, program))
}

fn run(options: &[&str], program: &Path, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(options).arg(program).args(args);
    command.output().unwrap().into()
}

/// The share of huge pages in percent, and kilobytes in memory.
fn told(ran: &Ran) -> (u64, u64) {
    assert_eq!(ran.status, 0, "{ran:?}");
    let mut figures = ran.out.split(['=', ' ', '\n']).map(str::parse);
    let mut next = || figures.find_map(Result::ok).unwrap();
    (next(), next())
}

#[test]
fn small_mappings_that_lie_side_by_side_are_put_together() {
    let Some((_live, program)) = ready("small mappings in a row") else {
        return;
    };
    for kb in ["64", "128", "256", "1024"] {
        let args = ["huge", "200", kb];
        let (share, there) = told(&run(&["--anon"], &program, &args));
        assert!(share >= 90, "{kb} kB: {share}%");
        let (_, plain) = told(&run(&["--report=/dev/null"], &program, &args));
        assert!(there <= plain + plain / 50, "{there} kB, plain {plain} kB");
    }
    for options in [&["--anon", "--fallback=base"][..], &["--report=/dev/null"]] {
        let (share, _) = told(&run(options, &program, &["huge", "200", "128"]));
        assert_eq!(share, 0, "{options:?}");
    }
    // Of few pages none are made.
    let (share, _) = told(&run(&["--anon"], &program, &["huge", "100", "16"]));
    assert_eq!(share, 0);
}

#[test]
fn where_a_mapping_ended_before_it_grew_it_is_put_together() {
    let Some((_live, program)) = ready("a mapping that doubles") else {
        return;
    };
    let (share, there) = told(&run(&["--anon"], &program, &["grow", "32"]));
    assert!(share >= 95, "{share}%");
    let (_, plain) = told(&run(&["--report=/dev/null"], &program, &["grow", "32"]));
    assert!(there <= plain + 2048, "{there} kB, plain {plain} kB");
}

#[test]
fn what_is_hardly_used_stays_small() {
    let Some((_live, program)) = ready("small mappings that are hardly used") else {
        return;
    };
    for kb in ["128", "1024"] {
        let args = ["sparse", "400", kb];
        let (share, there) = told(&run(&["--anon"], &program, &args));
        let (_, plain) = told(&run(&["--report=/dev/null"], &program, &args));
        assert!(
            share == 0 && there <= plain + 1024,
            "{share}% {there} {plain}"
        );
    }
}

#[test]
fn calls_on_a_row_of_mappings_answer_as_without() {
    let Some((_live, _)) = ready("calls on small mappings in a row") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("rows", libc, &[]) else {
            continue;
        };
        for args in [["answers"], ["threads"]] {
            let plain: Ran = Command::new(&program).args(args).output().unwrap().into();
            assert_eq!(plain.status, 0, "{libc:?} {plain:?}");
            for options in [&["--anon"][..], &["--anon", "--heap=thp"]] {
                let ours = run(options, &program, &args);
                assert_eq!(plain, ours, "{libc:?} {options:?}");
            }
        }
    }
}

//! `--stack`: stacks on huge pages, of the sizes and with the guard pages that they have
//! without.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::program::{Libc, build};
use crate::support::still::{Still, without_pool};
use crate::support::tool::{Ran, tool};

/// So much of each stack is used.
const USED: &str = "5000000";

/// What each stack's line says.
type Stacks = Vec<(String, BTreeMap<String, u64>)>;

fn stacks(ran: &Ran) -> Stacks {
    assert_eq!(ran.status, 0, "{ran:?}");
    let stack = |line: &str| {
        let (name, values) = line.split_once(" before=")?;
        let values = format!("before={values}");
        let values = values.split(' ').map(|word| {
            let (name, value) = word.split_once('=').unwrap();
            (name.to_owned(), value.parse().unwrap())
        });
        Some((name.to_owned(), values.collect()))
    };
    ran.out.lines().filter_map(stack).collect()
}

/// What is not about huge pages.
fn rest(ran: &Ran) -> Vec<&str> {
    let rest = ran.out.lines().filter(|line| !line.contains(" before="));
    rest.collect()
}

/// Whether nobody may touch the page below each.
fn guards(all: &Stacks) -> Vec<u64> {
    all.iter().map(|(_, stack)| stack["guard"]).collect()
}

fn run(options: &[&str], program: &Path) -> Ran {
    let mut command = tool("hugectl");
    let ran = command.args(options).arg(program).arg(USED).output();
    ran.unwrap().into()
}

fn ready(test: &str) -> Option<(Still, PathBuf)> {
    let live = without_pool(test)?;
    let program = build("stack", Libc::Glibc, &["-pthread"])?;
    live.thp_serves().then_some((live, program))
}

#[test]
fn stacks_are_huge_and_keep_their_sizes_and_guards() {
    let Some((_live, program)) = ready("stacks") else {
        return;
    };
    let plain: Ran = Command::new(&program).arg(USED).output().unwrap().into();
    let before = stacks(&plain);
    for (options, depth) in [
        (&["--stack"][..], 0),
        (&["--stack", "--heap=thp"], 0),
        (&["--stack", "--stack-depth=4MB"], 4 << 10),
    ] {
        let ran = run(options, &program);
        assert_eq!(rest(&ran), rest(&plain), "{ran:?}");
        let found = stacks(&ran);
        assert_eq!(found.len(), before.len());
        for ((name, stack), (_, plain)) in found.iter().zip(&before) {
            assert_eq!(stack["guard"], 1, "{ran:?}");
            // The main thread's begins somewhere else each time.
            let off = stack["size"].abs_diff(plain["size"]);
            assert!(off <= 64, "{name}: {ran:?} {plain:?}");
            // Its first 64 kB, and up to a huge page at either end.
            assert!(stack["after"] >= 2048, "{name}: {ran:?}");
            let ahead = stack["before"];
            assert!(
                (ahead > 0) == (depth > 0) && ahead <= depth + 2048,
                "{ran:?}"
            );
        }
        assert_eq!(
            found[0].1["maps"], 1,
            "the main stack is one mapping: {ran:?}"
        );
    }
}

/// A mapping that grows page by page has no place for a huge page.
#[test]
fn a_deep_main_stack_is_huge_as_far_as_its_limit_allows() {
    let Some((_live, program)) = ready("a deep main stack") else {
        return;
    };
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -s 65536 && exec \"$@\"", "sh"]);
    command.arg(tool("hugectl").get_program());
    let ran: Ran = command
        .arg("--stack")
        .arg(&program)
        .args(["40000000", "main"])
        .output()
        .unwrap()
        .into();
    let (_, main) = &stacks(&ran)[0];
    assert!(main["after"] >= 34 << 10 && main["maps"] == 1, "{ran:?}");
}

#[test]
fn what_a_size_comes_to_and_what_is_too_small_is_told_once() {
    let Some((live, program)) = ready("a size of stacks") else {
        return;
    };
    let size = format!("--stack={}", live.default_size());
    let ran = run(&[&size], &program);
    let told = format!("WARNING: {size} gets transparent huge pages: a stack grows");
    assert_eq!(ran.err.matches(&told).count(), 1, "{ran:?}");
    let small = "WARNING: stacks: one of 64 kB has no place for a whole huge page";
    assert_eq!(ran.err.matches(small).count(), 1, "{ran:?}");
    // Of all that a user runs nobody is told, unless he asks.
    for (verbose, lines) in [("2", 0), ("3", 1)] {
        let mut command = Command::new(&program);
        command.env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"));
        command.envs([("HUGETLB_STACK", "thp"), ("HUGETLB_VERBOSE", verbose)]);
        let ran: Ran = command.arg(USED).output().unwrap().into();
        let small = small.trim_start_matches("WARNING: ");
        assert_eq!(ran.err.matches(small).count(), lines, "{ran:?}");
    }
    let ran = run(&["--stack", "--fallback=base"], &program);
    assert!(
        ran.err
            .contains("--fallback=base rules transparent ones out"),
        "{ran:?}"
    );
    assert!(
        stacks(&ran).iter().all(|(_, stack)| stack["after"] == 0),
        "{ran:?}"
    );
    let ran = run(&["--stack", "--report"], &program);
    let row = ran.err.lines().find(|line| line.starts_with("stack "));
    assert!(row.unwrap().contains("thp"), "{ran:?}");
}

#[test]
fn threads_of_musl_run_as_they_do_without() {
    let Some((_live, _)) = ready("stacks under musl") else {
        return;
    };
    let Some(program) = build("stack", Libc::Musl, &[]) else {
        return;
    };
    let plain: Ran = Command::new(&program).arg(USED).output().unwrap().into();
    let ran = run(&["--stack"], &program);
    assert_eq!(rest(&ran), rest(&plain), "{ran:?}");
    let (plain, found) = (stacks(&plain), stacks(&ran));
    assert_eq!(guards(&found), guards(&plain), "{ran:?}");
    assert!(
        found.iter().all(|(_, stack)| stack["after"] >= 2048),
        "{ran:?}"
    );
}

#[test]
fn an_unlimited_or_small_stack_is_no_harm() {
    let Some((_live, program)) = ready("limits of stacks") else {
        return;
    };
    for limit in ["unlimited", "1000"] {
        let script = format!("ulimit -s {limit} && exec \"$@\"");
        let limited = |command: &mut Command| -> Ran {
            command.args(["sh", "-c", &script, "sh"]).arg(&program);
            command.arg("100000").output().unwrap().into()
        };
        let plain = limited(&mut Command::new("env"));
        let ran = limited(tool("hugectl").args(["--stack", "--stack-depth=6MB"]));
        assert_eq!(guards(&stacks(&ran)), guards(&stacks(&plain)), "{ran:?}");
        assert_eq!(rest(&ran), rest(&plain), "{ran:?}");
    }
}

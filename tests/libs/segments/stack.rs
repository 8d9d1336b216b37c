//! `--stack`: stacks on huge pages, with the sizes and guard pages that they have without us.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::empty_pool::thp_machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

/// Bytes used of each stack.
const USED: &str = "5000000";

/// The lines of all stacks.
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

/// Returns the other lines.
fn rest(ran: &Ran) -> Vec<&str> {
    let lines = ran.out.lines();
    lines.filter(|line| !line.contains(" before=")).collect()
}

/// Whether the page below each stack is a guard page.
fn guards(all: &Stacks) -> Vec<u64> {
    all.iter().map(|(_, stack)| stack["guard"]).collect()
}

fn run(options: &[&str], program: &Path) -> Ran {
    let mut command = tool("hugectl");
    command.args(options).arg(program).arg(USED).ran()
}

fn plain(program: &Path) -> Ran {
    Command::new(program).arg(USED).ran()
}

#[test]
fn stacks_are_huge_and_keep_their_sizes_and_guards() {
    let Some(_live) = thp_machine("stacks") else {
        return;
    };
    let Some(program) = build("stack", Libc::Glibc, &[]) else {
        return;
    };
    let plain = plain(&program);
    let before = stacks(&plain);
    for (options, depth) in [
        (&["--stack", "--heap=thp"][..], 0),
        (&["--stack", "--stack-depth=4MB"], 4 << 10),
    ] {
        let ran = run(options, &program);
        assert_eq!(rest(&ran), rest(&plain), "{ran:?}");
        let found = stacks(&ran);
        assert_eq!(found.len(), before.len());
        for ((name, stack), (_, plain)) in found.iter().zip(&before) {
            assert_eq!(stack["guard"], 1, "{ran:?}");
            // The main stack starts at a random address.
            let difference = stack["size"].abs_diff(plain["size"]);
            assert!(difference <= 64, "{name}: {ran:?} {plain:?}");
            assert!(stack["after"] >= 2048, "{name}: {ran:?}");
            let prefaulted = stack["before"];
            let is_right = prefaulted > 0 && prefaulted <= depth + 2048;
            assert!(is_right || prefaulted == 0 && depth == 0, "{ran:?}");
        }
        assert_eq!(found[0].1["maps"], 1, "the main stack: {ran:?}");
    }
}

#[test]
fn a_kernel_without_populate_write_prefaults_stacks() {
    let Some(_live) = thp_machine("prefaulted stacks on older kernels") else {
        return;
    };
    // `MADV_POPULATE_WRITE`, since Linux 5.14.
    let flags = ["-DCALL=SYS_madvise", "-DTHIRD=23", "-DREFUSAL=EINVAL"];
    let older = build("no_mremap", Libc::Glibc, &flags);
    let Some((older, program)) = older.zip(build("stack", Libc::Glibc, &[])) else {
        return;
    };
    let mut command = Command::new(older);
    command.arg(tool("hugectl").get_program());
    command.args(["--stack", "--stack-depth=4MB"]);
    let ran = command.arg(program).arg(USED).ran();
    for (name, stack) in stacks(&ran) {
        assert!(stack["before"] >= 2048, "{name}: {ran:?}");
    }
}

/// A VMA that grows page by page has no room for a huge page, so the library lengthens it first.
#[test]
fn a_deep_main_stack_is_huge_up_to_its_limit() {
    let Some(_live) = thp_machine("a deep main stack") else {
        return;
    };
    let Some(program) = build("stack", Libc::Glibc, &[]) else {
        return;
    };
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -s 65536 && exec \"$@\"", "sh"]);
    command.arg(tool("hugectl").get_program()).arg("--stack");
    command.arg(&program).args(["40000000", "main"]);
    let ran = command.ran();
    let (_, main) = &stacks(&ran)[0];
    assert!(main["after"] >= 34 << 10 && main["maps"] == 1, "{ran:?}");
}

#[test]
fn stack_warnings_are_printed_once() {
    let Some(live) = thp_machine("a size of stacks") else {
        return;
    };
    let Some(program) = build("stack", Libc::Glibc, &[]) else {
        return;
    };
    let size = format!("--stack={}", live.default_size());
    let ran = run(&[&size, "--report"], &program);
    let warnings = [
        "gets transparent huge pages",
        "is too small for a huge page",
    ];
    for warning in warnings {
        assert_eq!(ran.err.matches(warning).count(), 1, "{ran:?}");
    }
    let row = ran.err.lines().find(|line| line.starts_with("stack "));
    assert!(row.unwrap().contains("thp"), "{ran:?}");
    let ran = run(&["--stack", "--fallback=base"], &program);
    let is_base = |(_, stack): &(String, BTreeMap<String, u64>)| stack["after"] == 0;
    assert!(stacks(&ran).iter().all(is_base), "{ran:?}");
}

#[test]
fn musl_thread_stacks_are_huge() {
    let Some(_live) = thp_machine("stacks with musl") else {
        return;
    };
    let Some(program) = build("stack", Libc::Musl, &[]) else {
        return;
    };
    let (plain, ran) = (plain(&program), run(&["--stack"], &program));
    assert_eq!(rest(&ran), rest(&plain), "{ran:?}");
    let (plain, found) = (stacks(&plain), stacks(&ran));
    assert_eq!(guards(&found), guards(&plain), "{ran:?}");
    let is_huge = |(_, stack): &(String, BTreeMap<String, u64>)| stack["after"] >= 2048;
    assert!(found.iter().all(is_huge), "{ran:?}");
}

#[test]
fn stack_limits_are_kept() {
    let Some(_live) = thp_machine("limits of stacks") else {
        return;
    };
    let Some(program) = build("stack", Libc::Glibc, &[]) else {
        return;
    };
    for limit in ["unlimited", "1000"] {
        let script = format!("ulimit -s {limit} && exec \"$@\"");
        let limited = |command: &mut Command| -> Ran {
            command.args(["sh", "-c", &script, "sh"]).arg(&program);
            command.arg("100000").ran()
        };
        let plain = limited(&mut Command::new("env"));
        let ran = limited(tool("hugectl").args(["--stack", "--stack-depth=6MB"]));
        assert_eq!(guards(&stacks(&ran)), guards(&stacks(&plain)), "{ran:?}");
        assert_eq!(rest(&ran), rest(&plain), "{ran:?}");
    }
}

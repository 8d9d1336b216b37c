//! `--require` of private mappings and stacks.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{hugectl, refused, starts};
use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};
use crate::support::unchanged::without_pool;

/// Returns the output of `required_anon` if these calls fail with this error.
fn output(calls: &str, refused: &[&str], error: &str) -> String {
    let line = |call: &str| match refused.contains(&call) {
        true => format!("{call}: {error}\n"),
        false => format!("{call}: ok\n"),
    };
    let calls = calls.split_whitespace().filter(|call| *call != "off");
    calls.map(line).collect()
}

/// Runs the calls with and without `-q` and expects one error line if any call fails.
fn check(options: &str, program: &Path, calls: &str, refused: &[&str], error: &str, why: &str) {
    for quiet in ["", "-q "] {
        let ran = hugectl(&format!("{quiet}{options}"), program, calls);
        let out = output(calls, refused, error);
        assert_eq!((ran.status, &ran.out), (0, &out), "{options} {ran:?}");
        let errors = ran.err.lines().filter(|line| line.contains(" error: "));
        let errors: Vec<&str> = errors.collect();
        assert_eq!(errors.len(), usize::from(!refused.is_empty()), "{ran:?}");
        let is_expected = |line: &&str| line.contains(" is not met: ") && line.contains(why);
        assert!(errors.iter().all(is_expected), "{ran:?}");
    }
}

const ALL: &str = "map small reserve grow thread tiny";

#[test]
fn mappings_and_threads_fail() {
    let Some(_live) = without_pool("private mappings that are required") else {
        return;
    };
    let Some(program) = build("required_anon", Libc::Glibc, &["-pthread"]) else {
        return;
    };
    let (none, off) = ("", "disabled by prctl; the request fails");
    let large = ["map", "reserve", "grow"];
    let banned = format!("map off {ALL}");
    for share in ["anon", "anon:90"] {
        let require = format!("--require={share}");
        check(&require, &program, ALL, &[], none, none);
        let off_first = format!("off {ALL}");
        check(&require, &program, &off_first, &large, "ENOMEM", off);
    }
    // The mapping contains no whole huge page.
    let place = "no room for a whole huge page";
    check(
        "--require=anon",
        &program,
        "map unaligned",
        &["unaligned"],
        "ENOMEM",
        place,
    );
    // It counts once: alone, all of the memory is on base pages.
    check(
        "--require=anon:50",
        &program,
        "unaligned",
        &["unaligned"],
        "ENOMEM",
        place,
    );
    check("--anon", &program, "map unaligned", &[], none, none);
    check(
        "--require=anon:80",
        &program,
        "map unaligned",
        &[],
        none,
        none,
    );
    // Half of the memory may be on base pages: as much as was mapped before the prctl.
    let ran = hugectl("-q --require=anon:50", &program, "map off map map");
    assert_eq!(ran.out, "map: ok\nmap: ok\nmap: ENOMEM\n", "{ran:?}");
    // Threads fail to start if their stacks cannot be huge.
    check("--require=stack", &program, ALL, &[], none, none);
    check(
        "--require=stack",
        &program,
        &banned,
        &["thread"],
        "EAGAIN",
        off,
    );
    starts(
        "-q --anon --stack",
        &program,
        &banned,
        &output(&banned, &[], none),
    );
}

#[test]
fn the_main_stack_is_measured() {
    let Some(_live) = without_pool("stacks that are required") else {
        return;
    };
    let Some(program) = build("required_anon", Libc::Glibc, &["-pthread"]) else {
        return;
    };
    let with_limit = |kb: usize, options: &str| -> Ran {
        let stack = format!("--stack={}", kb << 10);
        let mut command = Command::new("prlimit");
        command.arg(stack).arg(tool("hugectl").get_program());
        command.args(options.split_whitespace()).arg(&program);
        command.arg("small").stdin(Stdio::null());
        command.output().unwrap().into()
    };
    for (kb, options, met) in [
        (8 << 10, "--require=stack:90 --stack-depth=4M", true),
        (1 << 10, "--require=stack", false),
        (8 << 10, "--require=stack:90 --stack-depth=16M", false),
        (8 << 10, "--require=stack:20 --stack-depth=16M", true),
    ] {
        let ran = with_limit(kb, options);
        let (status, out) = if met { (0, "small: ok\n") } else { (125, "") };
        assert_eq!((ran.status, &*ran.out), (status, out), "{options} {ran:?}");
        let cause = format!("a stack of {kb} kB is too small (to have a larger one: ulimit -s ");
        let is_told =
            ran.err.contains("is not started: --require=stack") && ran.err.contains(&cause);
        assert_eq!(is_told, !met, "{options} {ran:?}");
    }
    let parts = ["--require=stack and --fallback=base: --stack uses transparent"];
    refused("--require=stack --fallback=base", &program, "small", &parts);
}

#[test]
fn transparent_huge_pages_that_are_switched_off() {
    let Some(_live) = machine("private mappings where transparent huge pages are off") else {
        return;
    };
    let (Some(program), Some(no_thp)) = (
        build("required_anon", Libc::Glibc, &["-pthread"]),
        build("no_thp", Libc::Glibc, &[]),
    ) else {
        return;
    };
    // The prctl happens after hugectl's checks, so the library refuses.
    for segment in ["anon", "stack"] {
        let options = format!("--require={segment} --only=required_anon-Glibc-pthread");
        let arguments = format!("{} small", program.display());
        let text = format!("is not started: --require={segment} is not met: ");
        refused(&options, &no_thp, &arguments, &[&text, "disabled by prctl"]);
    }
}

#[test]
fn the_report_names_each_requirement() {
    let Some(_live) = without_pool("reports of private mappings that are required") else {
        return;
    };
    let Some(program) = build("required_anon", Libc::Glibc, &["-pthread"]) else {
        return;
    };
    let options = "-q --report --require=anon:50,stack:90";
    for (arguments, anon, stack) in [
        ("map thread", "met", "met"),
        ("off map", "NOT met", "met"),
        ("off thread", "met", "NOT met"),
    ] {
        let ran = hugectl(options, &program, arguments);
        let find = |line: &&str| line.starts_with("required: ");
        let line = ran.err.lines().find(find).unwrap_or("");
        let says = |what: &str| line.contains(what);
        let both = says(&format!("anon:50 {anon} (")) && says(&format!("stack:90 {stack} ("));
        assert!(both, "{arguments} {ran:?}");
    }
}

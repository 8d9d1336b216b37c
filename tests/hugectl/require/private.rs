//! `hugectl --require=anon` and `--require=stack`.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{assert_refused, assert_starts, hugectl};
use crate::support::empty_pool::empty_pool_machine;
use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

/// Returns the output of `required_anon` if the calls in `failing` fail with this error.
fn output(calls: &str, failing: &[&str], error: &str) -> String {
    let line = |call: &str| match failing.contains(&call) {
        true => format!("{call}: {error}\n"),
        false => format!("{call}: ok\n"),
    };
    let calls = calls.split_whitespace().filter(|call| *call != "off");
    calls.map(line).collect()
}

/// Runs the calls with and without `-q`. If any are to fail, expects one error line that contains
/// `why`.
fn check(options: &str, program: &Path, calls: &str, failing: &[&str], error: &str, why: &str) {
    for quiet in ["", "-q "] {
        let ran = hugectl(&format!("{quiet}{options}"), program, calls);
        let out = output(calls, failing, error);
        assert_eq!((ran.status, &ran.out), (0, &out), "{options} {ran:?}");
        let errors = ran.err.lines().filter(|line| line.contains(" error: "));
        let errors: Vec<&str> = errors.collect();
        assert_eq!(errors.len(), usize::from(!failing.is_empty()), "{ran:?}");
        let is_expected = |line: &&str| line.contains(" is not met: ") && line.contains(why);
        assert!(errors.iter().all(is_expected), "{ran:?}");
    }
}

/// All calls of `required_anon` except `off`.
const ALL: &str = "map small reserve grow thread tiny";

#[test]
fn mappings_and_threads_fail_without_thp() {
    let Some(_live) = empty_pool_machine("required private mappings") else {
        return;
    };
    let Some(program) = build("required_anon", Libc::Glibc, &["-pthread"]) else {
        return;
    };
    let (none, disabled) = ("", "disabled by prctl; the request fails");
    let large = ["map", "reserve", "grow"];
    let off_after_map = format!("map off {ALL}");
    for share in ["anon", "anon:90"] {
        let require = format!("--require={share}");
        check(&require, &program, ALL, &[], none, none);
        let off_first = format!("off {ALL}");
        check(&require, &program, &off_first, &large, "ENOMEM", disabled);
    }
    // Half of the memory may be on base pages: one `map` after the prctl, but not two.
    let ran = hugectl("-q --require=anon:50", &program, "map off map map");
    assert_eq!(ran.out, "map: ok\nmap: ok\nmap: ENOMEM\n", "{ran:?}");
    // A thread with a large stack fails to start if the stack can't be on huge pages.
    check("--require=stack", &program, ALL, &[], none, none);
    check(
        "--require=stack",
        &program,
        &off_after_map,
        &["thread"],
        "EAGAIN",
        disabled,
    );
    assert_starts(
        "-q --anon --stack",
        &program,
        &off_after_map,
        &output(&off_after_map, &[], none),
    );
}

#[test]
fn the_main_stack_is_measured() {
    let Some(_live) = empty_pool_machine("required stacks") else {
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
        command.ran()
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
        let has_cause =
            ran.err.contains("is not started: --require=stack") && ran.err.contains(&cause);
        assert_eq!(has_cause, !met, "{options} {ran:?}");
    }
    let parts = ["--require=stack and --fallback=base: --stack uses transparent"];
    assert_refused("--require=stack --fallback=base", &program, "small", &parts);
}

#[test]
fn a_program_started_without_thp_is_refused() {
    let Some(_live) = machine("required mappings of a program that is started without THP") else {
        return;
    };
    let (Some(program), Some(no_thp)) = (
        build("required_anon", Libc::Glibc, &["-pthread"]),
        build("no_thp", Libc::Glibc, &[]),
    ) else {
        return;
    };
    // `no_thp` calls prctl after hugectl's checks, so the library refuses to start the program.
    for segment in ["anon", "stack"] {
        let options = format!("--require={segment} --only=required_anon-Glibc-pthread");
        let arguments = format!("{} small", program.display());
        let text = format!("is not started: --require={segment} is not met: ");
        assert_refused(&options, &no_thp, &arguments, &[&text, "disabled by prctl"]);
    }
}

#[test]
fn the_report_says_which_requirements_are_met() {
    let Some(_live) = empty_pool_machine("reports of required private mappings") else {
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
        let is_required = |line: &&str| line.starts_with("required: ");
        let line = ran.err.lines().find(is_required).unwrap_or("");
        let has = |text: &str| line.contains(text);
        let has_both = has(&format!("anon:50 {anon} (")) && has(&format!("stack:90 {stack} ("));
        assert!(has_both, "{arguments} {ran:?}");
    }
}

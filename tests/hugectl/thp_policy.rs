//! `--thp-policy`: what a program and its children may have.

use super::place::done;
use crate::support::program::{Libc, build};
use crate::support::tool::tool;

/// What the process and a child of it say of themselves.
const LOOK: &str = "grep THP_enabled /proc/self/status; sh -c 'grep THP_enabled /proc/self/status'";

fn says(words: &[&str]) -> (String, String) {
    let words = [words, &["sh", "-c", LOOK]].concat();
    let done = done(&tool("hugectl").args(words).output().unwrap());
    assert_eq!(done.status, 0, "{done:?}");
    (done.out, done.err)
}

#[test]
fn a_ban_is_set_inherited_and_lifted() {
    let (allowed, forbidden) = ("THP_enabled:\t1\n", "THP_enabled:\t0\n");
    assert_eq!(says(&["--thp-policy=never"]).0, forbidden.repeat(2));
    let inside = tool("hugectl").get_program().to_str().unwrap().to_owned();
    let (out, err) = says(&["--thp-policy=never", &inside, "--thp-policy=always"]);
    assert_eq!(out, allowed.repeat(2));
    // Where the machine has them, a lifted ban is all that was asked for.
    assert!(err.is_empty() || err.contains("set to never"), "{err}");
    let kept = says(&["--thp-policy=never", &inside, "-qq", "--shm"]);
    assert_eq!(kept.0, forbidden.repeat(2));
    // Where the kernel has it not, a line says so; what asks has them either way.
    let (out, err) = says(&["--thp-policy=advised"]);
    assert_eq!(out, allowed.repeat(2));
    assert!(
        err.is_empty() || err.contains("--thp-policy=advised: "),
        "{err}"
    );
}

/// As Redis, Ruby and MariaDB make for themselves.
#[test]
fn the_program_s_own_ban_is_lifted_where_that_is_asked_for() {
    let Some(program) = build("ban", Libc::Glibc, &[]) else {
        return;
    };
    for door in ["function", "number"] {
        for (options, enabled, told) in [
            (&["--thp"][..], "0", "1"),
            (&["--thp", "--anon", "--thp-policy=always"], "1", "0"),
        ] {
            let mut command = tool("hugectl");
            let done = done(
                &command
                    .args(options)
                    .arg(&program)
                    .arg(door)
                    .output()
                    .unwrap(),
            );
            assert_eq!(done.status, 0, "{door} {options:?}: {done:?}");
            let said = format!("THP_enabled: {enabled}, prctl says {told}\n");
            assert_eq!(done.out, said, "{door} {options:?}: {done:?}");
        }
    }
}

/// What was mapped before the ban and is used after it: MariaDB's buffers.
#[test]
fn a_ban_that_reaches_what_was_asked_for_is_told() {
    let Some(program) = build("ban", Libc::Glibc, &[]) else {
        return;
    };
    let says = |options: &[&str], how: &str| {
        let mut command = tool("hugectl");
        let command = command.args(options).arg(&program).arg(how);
        let done = done(&command.output().unwrap());
        assert_eq!(done.status, 0, "{options:?} {how}: {done:?}");
        let line = "private mappings: transparent huge pages are disabled by prctl";
        done.err.matches(line).count()
    };
    assert_eq!(says(&["--anon"], "mapped"), 1);
    assert_eq!(says(&["--anon"], "function"), 0);
    assert_eq!(says(&["--anon", "--thp-policy=always"], "mapped"), 0);
}

#[test]
fn a_dry_run_says_what_no_shell_has() {
    let mut command = tool("hugectl");
    let words = ["--dry-run", "--thp-policy=never", "true"];
    let done = done(&command.args(words).output().unwrap());
    assert!(done.out.starts_with("# by prctl("), "{done:?}");
    let words = ["--thp-policy=madvise", "true"];
    let odd = tool("hugectl").args(words).output().unwrap();
    assert_eq!(odd.status.code(), Some(125));
}

//! `--thp-policy`: transparent huge pages of a program and its children.

use crate::support::needs;
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, tool};

/// Prints the state of the process and of a child.
const PRINT_THP_STATE: &str =
    "grep THP_enabled /proc/self/status; sh -c 'grep THP_enabled /proc/self/status'";

fn state(words: &[&str]) -> (String, String) {
    let words = [words, &["sh", "-c", PRINT_THP_STATE]].concat();
    let done = tool("hugectl").args(words).ran();
    assert_eq!(done.status, 0, "{done:?}");
    (done.out, done.err)
}

#[test]
fn a_policy_is_set_inherited_and_changed() {
    let (allowed, forbidden) = ("THP_enabled:\t1\n", "THP_enabled:\t0\n");
    assert_eq!(state(&["--thp-policy=never"]).0, forbidden.repeat(2));
    let inner = tool("hugectl").get_program().to_str().unwrap().to_owned();
    let (out, err) = state(&["--thp-policy=never", &inner, "--thp-policy=always"]);
    assert_eq!(out, allowed.repeat(2));
    // hugectl warns only if THP is off on the machine.
    assert!(err.is_empty() || err.contains("set to never"), "{err}");
    let kept = state(&["--thp-policy=never", &inner, "-qq", "--shm"]);
    assert_eq!(kept.0, forbidden.repeat(2));
    // An older kernel lacks this policy.
    let (out, err) = state(&["--thp-policy=advised"]);
    assert_eq!(out, allowed.repeat(2));
    assert!(
        err.is_empty() || err.contains("--thp-policy=advised: "),
        "{err}"
    );
    if err.is_empty() && needs::programs("--thp-policy=advised", &["python3"]) {
        let get = "import ctypes; print(ctypes.CDLL(None).prctl(42, 0, 0, 0, 0))";
        let words = ["--thp-policy=advised", "python3", "-c", get];
        let done = tool("hugectl").args(words).ran();
        // PR_GET_THP_DISABLE: disabled, with PR_THP_DISABLE_EXCEPT_ADVISED.
        assert_eq!(done.out, "3\n", "{done:?}");
    }
}

/// Redis, Ruby and MariaDB disable transparent huge pages for themselves.
#[test]
fn the_program_s_own_prctl_is_ignored_on_request() {
    let Some(program) = build("ban", Libc::Glibc, &[]) else {
        return;
    };
    for call in ["function", "number"] {
        for (options, enabled, result) in [
            (&["--thp"][..], "0", "1"),
            (&["--thp", "--anon", "--thp-policy=always"], "1", "0"),
        ] {
            let mut command = tool("hugectl");
            let done = command.args(options).arg(&program).arg(call).ran();
            assert_eq!(done.status, 0, "{call} {options:?}: {done:?}");
            let expected = format!("THP_enabled: {enabled}, prctl says {result}\n");
            assert_eq!(done.out, expected, "{call} {options:?}: {done:?}");
        }
    }
}

/// MariaDB maps its buffers before the prctl and uses them after it.
#[test]
fn a_prctl_that_affects_requested_memory_is_reported() {
    let Some(program) = build("ban", Libc::Glibc, &[]) else {
        return;
    };
    let warnings = |options: &[&str], how: &str| {
        let mut command = tool("hugectl");
        let command = command.args(options).arg(&program).arg(how);
        let done = command.ran();
        assert_eq!(done.status, 0, "{options:?} {how}: {done:?}");
        let line = "private mappings: transparent huge pages are disabled by prctl";
        done.err.matches(line).count()
    };
    assert_eq!(warnings(&["--anon"], "mapped"), 1);
    assert_eq!(warnings(&["--anon"], "function"), 0);
    assert_eq!(warnings(&["--anon", "--thp-policy=always"], "mapped"), 0);
}

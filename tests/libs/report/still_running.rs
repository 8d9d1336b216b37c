//! `hugectl --report` on processes that outlive the started program.

use std::io::Write;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::row;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool, write};

/// A daemon in perl: writes a byte, closes stdout and sleeps.
const DAEMON: &str = "$| = 1; print 7; close STDOUT; sleep 60";

/// Forks in perl; the child continues after the parent's exit.
const BECOME_ORPHAN: &str =
    "$p = $$; if (fork) { exit } select undef, undef, undef, 0.01 while getppid == $p;";

/// Returns a perl script that forks `child`, waits for its first output and exits with 3.
fn starter_script(child: &str) -> String {
    format!(
        "pipe(R, W); if (!fork) {{ open(STDOUT, '>&', \\*W); open(STDERR, '>', '/dev/null'); \
         close R; close W; {child} }} close W; sysread(R, $x, 1); exit 3"
    )
}

fn start(options: &[&str], child: &str) -> (Ran, i32) {
    let mut command = tool("hugectl");
    command.args(options).args(["--heap", "--report"]);
    command.args(["perl", "-e", &starter_script(child)]);
    run_and_kill_daemon(command)
}

/// Runs a starter, then kills its daemon. Returns the output and the daemon's PID.
fn run_and_kill_daemon(mut command: Command) -> (Ran, i32) {
    let ran = command.ran();
    assert_eq!(ran.status, 3, "{ran:?}");
    let digits = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
    let prefixes = ["--status ", "\"pid\":"];
    let after = prefixes
        .into_iter()
        .find_map(|prefix| ran.err.rsplit_once(prefix));
    let pid: i32 = digits(after.expect(&ran.err).1).parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    (ran, pid)
}

/// The starter's child executes the daemon, or is the daemon itself.
#[test]
fn a_daemon_is_reported() {
    let exec_daemon = format!("exec 'perl', '-e', '{DAEMON}'");
    for child in [&exec_daemon, DAEMON] {
        let (ran, pid) = start(&[], child);
        let (program, daemon) = ran.err.split_once("still running").expect(&ran.err);
        assert!(!row(program, "text").is_empty(), "{ran:?}");
        assert!(
            daemon.contains(&format!("perl, process {pid}\n")),
            "{ran:?}"
        );
        for segment in ["text", "data", "bss", "stack"] {
            let resident = row(daemon, segment).split_whitespace().nth(2);
            assert!(resident.is_some_and(|kb| kb != "0"), "{segment}: {ran:?}");
        }
    }
    let (ran, pid) = start(&["--json", "-q"], &exec_daemon);
    let line = |line| serde_json::from_str(line).unwrap();
    let lines: Vec<Value> = ran.err.lines().map(line).collect();
    assert!(lines.len() == 2 && lines[1]["pid"] == pid, "{ran:?}");
    assert!(!lines[1]["segments"].as_array().unwrap().is_empty());
}

/// One daemon unsets LD_PRELOAD; the other clears its environment and outlives its parent.
#[test]
fn a_daemon_without_the_library_is_reported() {
    let no_preload = format!("delete @ENV{{'LD_PRELOAD'}}; exec 'perl', '-e', '{DAEMON}'");
    let orphan = format!("%ENV = (); {BECOME_ORPHAN} exec '/usr/bin/perl', '-e', '{DAEMON}'");
    for child in [&no_preload, &orphan] {
        let (ran, pid) = start(&[], child);
        let (_, daemon) = ran.err.split_once("still running").expect(&ran.err);
        assert!(
            daemon.contains(&format!("perl, process {pid}\n")),
            "{ran:?}"
        );
    }
    let (ran, pid) = start(&["--json", "-q"], &no_preload);
    let last: Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    assert_eq!(last["pid"], pid);
    assert!(!last["segments"].as_array().unwrap().is_empty(), "{last}");
}

/// `daemon(3)` ends the parent by a system call inside libc, which the library can't intercept.
#[test]
fn both_processes_of_daemon_3_are_reported() {
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let mut command = tool("hugectl");
    command.args(["-q", "--heap=thp", "--report", "--json"]);
    command
        .arg(&program)
        .args(["daemon", "32"])
        .stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let pid = |line| serde_json::from_str::<Value>(line).unwrap()["pid"].as_i64();
    let pids: Vec<_> = ran.err.lines().filter_map(pid).collect();
    let &[_, daemon] = pids.as_slice() else {
        panic!("expected two reports: {ran:?}");
    };
    let daemon = i32::try_from(daemon).unwrap();
    kill(Pid::from_raw(daemon), Signal::SIGKILL).unwrap();
}

/// The shell waits for the server and isn't reported.
#[test]
fn the_server_of_a_script_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("safe");
    let text = format!("#!/bin/sh\nperl -e '{DAEMON}'\ntrue\n");
    write(&script, text.as_bytes());
    let (ran, pid) = start(&[], &format!("exec 'sh', '{}'", script.display()));
    let server = format!("perl, process {pid}\n");
    assert!(ran.err.contains(&server), "{ran:?}");
}

/// The daemon outlives its parent and overwrites its environment.
#[test]
fn an_orphan_without_its_environment_is_reported() {
    let daemon = format!("{BECOME_ORPHAN} $0 = 'x' x 16384; {DAEMON}");
    let (ran, pid) = start(&[], &daemon);
    let (_, remaining) = ran.err.split_once("still running").expect(&ran.err);
    assert!(remaining.contains(&format!("process {pid}\n")), "{ran:?}");
    assert!(!row(remaining, "heap").is_empty(), "{ran:?}");
}

/// The report names the symbolic link and its target, as for Debian's redis-server.
#[test]
fn the_report_names_a_link_and_its_target() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("other");
    let perl = std::fs::canonicalize("/usr/bin/perl").unwrap();
    std::os::unix::fs::symlink(&perl, &link).unwrap();
    let mut command = tool("hugectl");
    command.args(["--heap", "--report"]).arg(&link);
    let ran = command.args(["-e", "system 'true'"]).ran();
    let head = format!("other ({}), process ", perl.display());
    assert!(ran.err.contains(&head), "{ran:?}");
    assert!(!ran.err.contains("still run"), "{ran:?}");
}

//! The report on a process that outlives the program that hugectl started.

use std::io::Write;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::row;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, copy, tool, write};

/// A daemon that prints once it runs, and holds none of our pipes.
const DAEMON: &str = "$| = 1; print 7; close STDOUT; sleep 60";

/// Forks and goes on in the child once the parent has ended.
const ORPHAN: &str =
    "$p = $$; if (fork) { exit } select undef, undef, undef, 0.01 while getppid == $p;";

/// Returns a starter in perl: its child runs `child`, and the starter waits for its output.
fn starter(child: &str) -> String {
    format!(
        "pipe(R, W); if (!fork) {{ open(STDOUT, '>&', \\*W); open(STDERR, '>', '/dev/null'); \
         close R; close W; {child} }} close W; sysread(R, $x, 1); exit 3"
    )
}

fn start(options: &[&str], child: &str) -> (Ran, i32) {
    let mut command = tool("hugectl");
    command.args(options).args(["--heap", "--report"]);
    command.args(["perl", "-e", &starter(child)]);
    finish(command)
}

/// Runs a starter and kills the process that it left. Returns the starter's output and that PID.
fn finish(mut command: Command) -> (Ran, i32) {
    let ran = command.ran();
    assert_eq!(ran.status, 3, "{ran:?}");
    let digits = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
    let marks = ["--status ", "warning: process ", "\"pid\":"];
    let found = marks.into_iter().find_map(|mark| ran.err.rsplit_once(mark));
    let pid: i32 = digits(found.expect(&ran.err).1).parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    (ran, pid)
}

/// The daemon is executed by the starter's child, or is that child itself.
#[test]
fn a_daemon_is_reported_on() {
    let execs = format!("exec 'perl', '-e', '{DAEMON}'");
    for child in [&execs, DAEMON] {
        let (ran, pid) = start(&[], child);
        let (own, other) = ran.err.split_once("still running").expect(&ran.err);
        assert!(!row(own, "text").is_empty(), "{ran:?}");
        assert!(other.contains(&format!("perl, process {pid}\n")), "{ran:?}");
        for segment in ["text", "data", "bss", "stack"] {
            let resident = row(other, segment).split_whitespace().nth(2);
            assert!(resident.is_some_and(|kb| kb != "0"), "{segment}: {ran:?}");
        }
    }
    let (ran, pid) = start(&["--json", "-q"], &execs);
    let line = |line| serde_json::from_str(line).unwrap();
    let lines: Vec<Value> = ran.err.lines().map(line).collect();
    assert!(lines.len() == 2 && lines[1]["pid"] == pid, "{ran:?}");
    assert!(!lines[1]["segments"].as_array().unwrap().is_empty());
}

/// One daemon drops LD_PRELOAD; the other drops its environment and loses its parent.
#[test]
fn a_daemon_without_the_library_is_named() {
    let drops = format!("delete @ENV{{'LD_PRELOAD'}}; exec 'perl', '-e', '{DAEMON}'");
    let loses = format!("%ENV = (); {ORPHAN} exec '/usr/bin/perl', '-e', '{DAEMON}'");
    for child in [&drops, &loses] {
        let (ran, _) = start(&[], child);
        assert!(ran.err.contains("(perl) still runs and "), "{ran:?}");
    }
    let (ran, pid) = start(&["--json", "-q"], &drops);
    let last: Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    assert_eq!(last["pid"], pid);
    assert_eq!(last["warnings"].as_array().unwrap().len(), 1, "{last}");
}

/// `daemon(3)` ends the first process by a system call that the library doesn't see.
#[test]
fn a_program_that_calls_daemon_is_reported_on() {
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
        panic!("not two reports: {ran:?}");
    };
    let daemon = i32::try_from(daemon).unwrap();
    kill(Pid::from_raw(daemon), Signal::SIGKILL).unwrap();
}

/// Not on a shell that waits for its server.
#[test]
fn the_report_is_on_the_server_of_a_script() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("safe");
    let text = format!("#!/bin/sh\nperl -e '{DAEMON}'\ntrue\n");
    write(&script, text.as_bytes());
    let (ran, pid) = start(&[], &format!("exec 'sh', '{}'", script.display()));
    let server = format!("perl, process {pid}\n");
    assert!(ran.err.contains(&server), "{ran:?}");
}

/// It has lost its parent and overwritten its environment, but has the library.
#[test]
fn a_daemon_is_known_by_its_library() {
    // A file that no other test's daemon executes.
    let dir = tempfile::tempdir().unwrap();
    let perl = dir.path().join("perl-daemon");
    copy("/usr/bin/perl", &perl);
    let daemon = format!("{ORPHAN} $0 = 'x' x 16384; {DAEMON}");
    let mut command = tool("hugectl");
    command.args(["--heap", "--report"]).arg(&perl);
    command.args(["-e", &starter(&daemon)]);
    let (ran, pid) = finish(command);
    let (_, other) = ran.err.split_once("still running").expect(&ran.err);
    assert!(other.contains(&format!("process {pid}\n")), "{ran:?}");
    assert!(!row(other, "heap").is_empty(), "{ran:?}");
}

/// The name is that of the started link, as with Debian's redis-server.
#[test]
fn a_report_on_a_link() {
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

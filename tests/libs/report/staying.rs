//! The report of a program that starts another one and ends.

use std::io::Write;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, copy, tool, write};

/// What stays, says that it runs, and holds none of our pipes.
const STAYS: &str = "$| = 1; print 7; close STDOUT; sleep 60";

/// A starter in perl: `$CHILD` is what it becomes in its child, which it waits
/// for until it runs.
fn starter(child: &str) -> String {
    format!(
        "pipe(R, W); if (!fork) {{ open(STDOUT, '>&', \\*W); open(STDERR, '>', '/dev/null'); \
         close R; close W; {child} }} close W; sysread(R, $x, 1); exit 3"
    )
}

/// Starts it under hugectl; what it says, and whom it has left.
fn leave(options: &[&str], child: &str) -> (Ran, i32) {
    let mut command: Command = tool("hugectl");
    command.args(options).args(["--heap", "--report"]);
    command.args(["perl", "-e", &starter(child)]);
    left_by(command)
}

/// Whom it has left, which ends.
fn left_by(mut command: Command) -> (Ran, i32) {
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 3, "{ran:?}");
    let digits = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
    let pids = ["--status ", "WARNING: process ", "\"pid\":"].map(|mark| ran.err.rsplit_once(mark));
    let pid = pids.iter().flatten().next().map(|(_, rest)| digits(rest));
    let pid: i32 = pid.unwrap_or_default().parse().expect(&ran.err);
    kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it stays");
    (ran, pid)
}

#[test]
fn what_stays_is_reported_on() {
    let execs = format!("exec 'perl', '-e', '{STAYS}'");
    // A daemon that writes over its environment, as for its title, is known as
    // a child.
    for child in [&execs, STAYS] {
        let (ran, pid) = leave(&[], child);
        let (own, other) = ran.err.split_once("still running").expect(&ran.err);
        assert!(own.contains("text "), "{ran:?}");
        assert!(other.contains(&format!("perl, process {pid}\n")), "{ran:?}");
        for segment in ["text ", "data ", "bss ", "stack "] {
            let row = other.lines().find(|line| line.starts_with(segment));
            let resident = row.and_then(|row| row.split_whitespace().nth(2));
            assert!(resident.is_some_and(|kb| kb != "0"), "{segment}: {ran:?}");
        }
    }
}

#[test]
fn it_is_a_line_of_json_too() {
    let (ran, pid) = leave(&["--json", "-q"], &format!("exec 'perl', '-e', '{STAYS}'"));
    let lines: Vec<serde_json::Value> = ran
        .err
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    for line in &lines {
        assert_eq!(
            (&line["tool"], &line["schema"]),
            (&"hugectl".into(), &1.into())
        );
        assert!(!line["segments"].as_array().unwrap().is_empty(), "{ran:?}");
    }
    assert_eq!(lines[1]["pid"], pid);
}

#[test]
fn what_has_nothing_of_ours_is_told() {
    let drops = format!("delete @ENV{{'LD_PRELOAD'}}; exec 'perl', '-e', '{STAYS}'");
    let (ran, _) = leave(&[], &drops);
    assert!(ran.err.contains("lacks the library"), "{ran:?}");
    let (ran, pid) = leave(&["--json", "-q"], &drops);
    let last: serde_json::Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    assert_eq!(last["pid"], pid);
    let told = last["warnings"][0].as_str().unwrap();
    assert!(told.contains("lacks the library"), "{told}");
}

/// Shells end by `_exit`, and so do most scripts that start a server.
#[test]
fn it_is_told_at_an_end_without_destructors() {
    let starts = format!(
        "perl -e '{}'",
        starter(&format!("exec 'perl', '-e', '{STAYS}'")).replace('\'', "'\\''")
    );
    let mut command: Command = tool("hugectl");
    command.args([
        "--heap",
        "--report",
        "sh",
        "-c",
        &format!("{starts}; exit 3"),
    ]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 3, "{ran:?}");
    let (_, rest) = ran.err.rsplit_once("--status ").expect(&ran.err);
    let pid: String = rest.chars().take_while(char::is_ascii_digit).collect();
    kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL).expect("it stays");
    assert!(rest.contains(&format!("perl, process {pid}\n")), "{ran:?}");
}

/// `daemon(3)` has the process that was started end by a system call of libc's own,
/// which passes the library by.
#[test]
fn a_program_that_makes_itself_a_daemon_is_reported_on() {
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    for json in [false, true] {
        let mut command: Command = tool("hugectl");
        command.args(["-q", "--heap=thp", "--report"]);
        command.args(json.then_some("--json")).arg(&program);
        command.args(["daemon", "32"]).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.status, 0, "{ran:?}");
        let of = |text: &str| -> Option<i32> {
            let digits = text.split(|byte: char| !byte.is_ascii_digit()).next()?;
            digits.parse().ok()
        };
        let mark = if json { "\"pid\":" } else { "process " };
        let pids: Vec<i32> = ran.err.split(mark).skip(1).filter_map(of).collect();
        let &[_, stays] = pids.as_slice() else {
            panic!("two reports: {ran:?}");
        };
        kill(Pid::from_raw(stays), Signal::SIGKILL).expect("it stays");
        assert_eq!(ran.err.contains("still running, as it is now"), !json);
    }
}

/// A shell that waits for a server is not what was asked about.
#[test]
fn a_script_stands_back_behind_the_server_that_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("safe");
    write(
        &script,
        format!("#!/bin/sh\nperl -e '{STAYS}'\ntrue\n").as_bytes(),
    );
    let execs = format!("exec 'sh', '{}'", script.display());
    let (ran, pid) = leave(&[], &execs);
    assert!(
        ran.err.contains(&format!("perl, process {pid}\n")),
        "{ran:?}"
    );
}

/// Nothing of it says whose it is, once its parent has ended.
#[test]
fn what_has_lost_its_environment_and_its_parent_is_told() {
    let drops = format!(
        "%ENV = (); if (fork) {{ select undef, undef, undef, 0.3; exit }} \
         select undef, undef, undef, 0.6; exec '/usr/bin/perl', '-e', '{STAYS}'"
    );
    let (ran, pid) = leave(&[], &drops);
    let told = format!("process {pid} (perl) still runs and lacks the library");
    assert!(ran.err.contains(&told), "{ran:?}");
    let (ran, pid) = leave(&["--json", "-q"], &drops);
    let last: serde_json::Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    assert_eq!(last["pid"], pid);
}

/// Nor does anything where a daemon has written over its environment: it has the
/// library all the same.
#[test]
fn a_daemon_that_has_written_over_its_environment_is_reported_on() {
    // Others' daemons are of another file.
    let dir = tempfile::tempdir().unwrap();
    let perl = dir.path().join("perl-daemon");
    copy("/usr/bin/perl", &perl);
    let overwrites = format!("$0 = 'x' x 16384; {STAYS}");
    let wait = "select undef, undef, undef, 0.4";
    for fork in [
        format!("if (fork) {{ {wait}; exit }} {wait}; {wait}"),
        format!("{wait}; if (fork) {{ exit }} {wait}"),
    ] {
        let mut command: Command = tool("hugectl");
        command.args(["--heap", "--report"]).arg(&perl);
        command.args(["-e", &starter(&format!("{fork}; {overwrites}"))]);
        let (ran, pid) = left_by(command);
        let (_, other) = ran.err.split_once("still running").expect(&ran.err);
        assert!(other.contains(&format!("process {pid}\n")), "{ran:?}");
        assert!(other.contains("heap "), "{ran:?}");
        assert_eq!(ran.err.matches("still running").count(), 1, "{ran:?}");
    }
}

#[test]
fn who_leaves_nothing_says_nothing_more() {
    let mut command = tool("hugectl");
    command.args(["--heap", "--report", "perl", "-e", "system 'true'"]);
    let ran: Ran = command.output().unwrap().into();
    assert!(
        ran.err.contains("text ") && !ran.err.contains("still run"),
        "{ran:?}"
    );
}

/// Debian's redis-server is a link to redis-check-rdb.
#[test]
fn a_program_goes_by_the_name_that_was_started() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("other");
    let perl = std::fs::canonicalize("/usr/bin/perl").unwrap();
    std::os::unix::fs::symlink(&perl, &link).unwrap();
    let mut command = tool("hugectl");
    let ran: Ran = command
        .args(["--heap", "--report"])
        .arg(&link)
        .args(["-e", "exit"])
        .output()
        .unwrap()
        .into();
    let head = format!("other ({}), process ", perl.display());
    assert!(ran.err.contains(&head), "{ran:?}");
}

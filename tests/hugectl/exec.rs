//! hugectl executes the program, with the exit statuses of `env`, and leaves no trace.

use std::process::{Command, Stdio};

use crate::support::tool::{Run, tool};

use super::place::{PROGRAM, Place, Ran, as_nobody};
use crate::support::needs;

#[test]
fn statuses_are_those_of_env() {
    let place = Place::new();
    place.build("bin/program", PROGRAM, &[]);
    place.file("bin/text", "echo text \"$@\"; exit 5\n", 0o755);
    place.file("bin/empty", "", 0o755);
    place.file("bin/plain", "echo\n", 0o644);
    place.file("bin/lost", "#!/no/such/shell\n", 0o755);
    place.file(
        "bin/script",
        "#!/bin/sh -u\necho script \"$@\"; exit 6\n",
        0o755,
    );
    place.file(
        "bin/awk",
        "#!/usr/bin/awk -f\nBEGIN { print ARGV[1]; exit 7 }\n",
        0o755,
    );
    for line in [
        "program 3 a 'b  c'",
        "bin/program 0",
        "text a b",
        "empty",
        "plain",
        "lost",
        "script x",
        "awk x",
        "./bin",
        "bin/none",
        "none",
        "bin/plain/x",
        "sh -c 'kill -TERM $$'",
        "sh -c 'kill -SEGV $$'",
    ] {
        let path = "PATH=$PATH:$PWD/bin";
        let theirs = place.shell(&format!("{path} env {line}"));
        let ours = place.shell(&format!("{path} hugectl -q --shm {line}"));
        let own = ours.status > 124 && ours.err.starts_with("hugectl: error");
        let ours = Ran {
            err: if own { theirs.err.clone() } else { ours.err },
            out: ours.out.replace(" HUGETLB_SHM=yes", ""),
            ..ours
        };
        assert_eq!(ours, theirs, "{line}");
    }
}

#[test]
fn the_process_stays_the_same() {
    let place = Place::new();
    let child = place
        .command(&["-q", "--heap", "sh", "-c", "echo $$; echo $0", "zero"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{pid}\nzero\n")
    );
    let name = place.shell("hugectl -q --shm sh -c 'tr \"\\0\" \" \" < /proc/$$/cmdline'");
    assert!(name.out.starts_with("sh -c "), "{}", name.out);
}

#[test]
fn signals_and_descriptors_are_unchanged() {
    let place = Place::new();
    let states = [
        "",
        "trap '' PIPE; ",
        "trap '' INT TERM; ",
        "exec <&-; ",
        "exec 0<&- 7</dev/null; ",
    ];
    let look =
        "sh -c 'grep -E \"Sig(Blk|Ign|Cgt)\" /proc/self/status; ls /proc/$$/fd; ulimit -a; umask'";
    for state in states {
        let theirs = place.shell(&format!("{state}env {look}"));
        let ours = place.shell(&format!("{state}hugectl -q --shm {look}"));
        assert_eq!(ours, theirs, "{state}");
    }
}

/// hugectl reaps its children even if SIGCHLD is ignored or blocked, and leaves no signal pending.
#[test]
fn sigchld_may_be_ignored_or_blocked() {
    let place = Place::new();
    let look = "grep -sE 'Sig(Blk|Ign|Pnd)|ShdPnd' /proc/self/status /no/such/file";
    for before in ["--ignore-signal=CHLD", "--block-signal=CHLD"] {
        let theirs = place.shell(&format!("env {before} {look}"));
        let line = format!("env {before} hugectl --shm=thp --report=report {look}");
        let ours = place.shell(&line);
        assert_eq!((ours.status, &ours.out), (2, &theirs.out), "{before}");
        assert!(!ours.err.contains("cannot be watched"), "{}", ours.err);
    }
}

#[test]
fn a_closed_pipe_ends_the_program() {
    let place = Place::new();
    let done = place.shell("hugectl -q --shm yes | head -n 1");
    assert_eq!(done.out, "y\n");
    let help = place.shell("(sleep 0.2; hugectl --help; echo $? >&2) | true");
    assert_eq!(help.err, "0\n");
}

/// The program starts even if hugectl's messages cannot be written.
#[test]
fn lost_messages_are_no_failure() {
    let place = Place::new();
    let start = "hugectl -v --heap=thp --no-preload echo started";
    for script in [
        // A pipe without a reader, and a file that may not grow.
        format!("(sleep 0.2; {start}; echo $?) 2>&1 >&3 | true"),
        format!("ulimit -f 0; {start} 2>err >&3; echo $? >&3"),
    ] {
        let done = place.shell(&format!("exec 3>&1; {script}; wait"));
        assert_eq!(done.out, "started\n0\n", "{script}: {done:?}");
    }
}

#[test]
fn an_unreadable_program_runs() {
    if !needs::root("an_unreadable_program_runs") {
        return;
    }
    let place = Place::new();
    place.build("bin/program", PROGRAM, &[]);
    place.shell("chmod 0711 bin/program");
    let command = place.command(&["-v", "--shm", "bin/program", "4"]);
    let done = as_nobody(&command).ran();
    assert_eq!(
        (done.status, done.out.as_str()),
        (4, "program 4 HUGETLB_SHM=yes\n")
    );
    assert!(
        done.err
            .contains("of an unknown kind (permission denied (EACCES)"),
        "{}",
        done.err
    );
}

#[test]
fn help_fits_two_screens() {
    let place = Place::new();
    let help = place.run(&["--help"]);
    assert_eq!((help.status, help.err.as_str()), (0, ""));
    for word in ["--heap", "--status", "Examples:", "Exit status: 125"] {
        assert!(help.out.contains(word), "{word}");
    }
    let short = place.run(&["-h"]).out;
    assert!(
        short.contains("--heap") && short.lines().count() <= 40,
        "{short}"
    );
    // Two screens of 50 lines.
    assert!(help.out.lines().count() <= 100, "{}", help.out);
    assert!(help.out.lines().all(|line| line.len() <= 80));
    let version = place.run(&["--version"]);
    assert_eq!(
        version.out,
        format!("hugectl {}\n", env!("CARGO_PKG_VERSION"))
    );
    let quiet = place.run(&["--verbose", "0", "--shm", "/no/such"]);
    assert_eq!((quiet.status, quiet.err.as_str()), (127, ""));
}

/// Runs the examples, most as dry runs, with programs of those names.
#[test]
fn the_examples_of_the_help_work() {
    let place = Place::new();
    for name in [
        "solver",
        "bin/python3",
        "bin/pg_ctl",
        "bin/java",
        "bin/redis-server",
    ] {
        place.build(name, PROGRAM, &[]);
    }
    let help = place.run(&["--help"]).out;
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let lines = examples.lines().map_while(|line| line.strip_prefix("  "));
    let mut ran = 0;
    for line in lines {
        let (command, _) = line.split_once("   ").unwrap();
        if command.contains("--emit") {
            // It needs an installed hugectl: see tests/tools/recipes.rs.
            continue;
        }
        let starts = !command.contains("--explain");
        let command = match command.contains("--status") {
            true => command.replace("postgres", "sh"),
            // A recorded machine has no processes.
            false if command.contains("--pid") => command
                .replace("hugectl", "hugectl --dry-run")
                .replace("1234", "$$"),
            false if command.contains("--compare") => {
                command.replace("--compare", "--compare --rounds=1")
            }
            false if starts => command.replace("hugectl", "hugectl --dry-run --sysroot pool"),
            false => command.replace("hugectl", "hugectl --sysroot pool"),
        };
        let done = place.shell(&format!("PATH=$PWD/bin:$PATH; {command}"));
        assert_eq!(done.status, 0, "{command}\n{}", done.err);
        assert!(done.out.lines().count() >= 4, "{command}\n{}", done.out);
        ran += 1;
    }
    assert!(ran >= 6, "{ran} examples");
}

#[test]
fn verbosity_comes_from_the_environment_and_the_options() {
    let place = Place::new();
    let infos = |line: &str| place.shell(line).err.matches("info: ").count();
    assert_eq!(infos("hugectl --shm true"), 0);
    assert!(infos("hugectl -v --shm true") >= 4);
    assert!(infos("HUGETLB_VERBOSE=3 hugectl --shm true") >= 4);
    assert!(infos("HUGETLB_DEBUG= hugectl --shm true") >= 4);
    assert_eq!(infos("HUGETLB_VERBOSE=3 hugectl -q --shm true"), 0);
    let lines = place.shell("hugectl -v --shm true").err;
    assert!(
        lines.contains("hugectl: info: HUGETLB_SHM='yes'\n"),
        "{lines}"
    );
}

#[test]
fn twelve_descriptors_are_enough() {
    let place = Place::new();
    for closed in ["", "exec 0<&-;", "exec <&- >&-;"] {
        let line = format!(
            "{closed} ulimit -n 12; exec hugectl --heap=thp --report=report sh -c 'kill -9 $$'"
        );
        let done = place.shell(&line);
        assert_eq!((done.status, done.err.as_str()), (137, ""), "{line}");
    }
}

/// A set-user-ID hugectl would pass its rights to the program.
#[test]
fn a_set_user_id_hugectl_starts_nothing() {
    if !needs::root("a_set_user_id_hugectl_starts_nothing") {
        return;
    }
    let place = Place::new();
    place.shell("chmod 4755 prefix/bin/hugectl");
    let run = |options: &[&str]| {
        let command = place.command(options);
        as_nobody(&command).ran()
    };
    let refused = run(&["-q", "--shm", "id", "-u"]);
    assert_eq!((refused.status, refused.out.as_str()), (125, ""));
    assert!(
        refused.err.contains("start programs with a copy"),
        "{refused:?}"
    );
    let printed = run(&["-q", "--dry-run", "--shm", "id"]);
    assert_eq!(printed.status, 0, "{printed:?}");
    // Root owns the file, so it grants root nothing.
    assert_eq!(place.run(&["-q", "--shm", "id", "-u"]).out, "0\n");
}

/// Where there is no static C library, hugectl is dynamic, but without libgcc_s, which would slow
/// down each start.
#[test]
fn hugectl_needs_no_libgcc() {
    let output = Command::new("readelf")
        .args(["-d", env!("CARGO_BIN_EXE_hugectl")])
        .output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && !text.contains("libgcc_s"),
        "{text}"
    );
}

#[test]
fn a_busy_program_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("busy");
    std::fs::copy("/bin/true", &program).unwrap();
    let open = std::fs::OpenOptions::new().append(true).open(&program);
    let output = tool("hugectl").arg("--shm").arg(&program).output().unwrap();
    drop(open.unwrap());
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(126), "{err}");
    for part in ["(ETXTBSY)", "wait until it is closed"] {
        assert!(err.contains(part), "{err}");
    }
}

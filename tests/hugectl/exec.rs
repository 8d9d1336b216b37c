//! Becoming the program: nothing of hugectl is left, and statuses are those
//! that `env` gives.

use std::process::{Command, Stdio};

use crate::support::tool::tool;

use super::place::{Done, PROGRAM, Place, as_nobody, done, is_root};

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
        let own = ours.status > 124 && ours.err.starts_with("hugectl: ERROR");
        let ours = Done {
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

/// Signal dispositions and descriptors are those that the caller gave.
#[test]
fn nothing_of_hugectl_is_inherited() {
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

/// Whether the caller ignores `SIGCHLD` or blocks it: those that hugectl starts for itself
/// are watched to their end, and the program finds nothing of it pending.
#[test]
fn the_end_of_a_child_of_hugectl_is_no_signal() {
    let place = Place::new();
    let look = "grep -E 'Sig(Blk|Ign|Pnd)|ShdPnd' /proc/self/status";
    for before in ["--ignore-signal=CHLD", "--block-signal=CHLD"] {
        let theirs = place.shell(&format!("env {before} {look}"));
        let line = format!("env {before} hugectl --shm=thp --report=report {look}");
        let ours = place.shell(&line);
        assert_eq!((ours.status, &ours.out), (0, &theirs.out), "{before}");
        assert!(!ours.err.contains("cannot be watched"), "{}", ours.err);
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_program() {
    let place = Place::new();
    let done = place.shell("hugectl -q --shm yes | head -n 1; echo ${PIPESTATUS-}");
    assert_eq!(done.out.lines().next(), Some("y"));
    let help = place.shell("hugectl --help | true");
    assert_eq!((help.status, help.err.as_str()), (0, ""));
}

/// Its messages go nowhere then; the program starts.
#[test]
fn a_message_that_nobody_reads_ends_nothing() {
    let place = Place::new();
    let ignored = "hugectl -v --heap=thp --no-preload echo started";
    for gone in [
        // A pipe without a reader, and a file that may not grow.
        format!("(sleep 0.2; {ignored}; echo $?) 2>&1 >&3 | true"),
        format!("ulimit -f 0; {ignored} 2>err >&3; echo $? >&3"),
    ] {
        let done = place.shell(&format!("exec 3>&1; {gone}; wait"));
        assert!(done.out.starts_with("started\n"), "{gone}: {done:?}");
    }
}

#[test]
fn a_program_that_cannot_be_read_runs_all_the_same() {
    if !is_root("a_program_that_cannot_be_read_runs_all_the_same") {
        return;
    }
    let place = Place::new();
    place.build("bin/program", PROGRAM, &[]);
    place.shell("chmod 0711 bin/program");
    let command = place.command(&["-v", "--shm", "bin/program", "4"]);
    let done = done(&as_nobody(&command).output().unwrap());
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
fn words_for_the_terminal() {
    let place = Place::new();
    let help = place.run(&["--help"]);
    assert_eq!((help.status, help.err.as_str()), (0, ""));
    for word in ["--heap", "--status", "Examples:", "Exit status: 125"] {
        assert!(help.out.contains(word), "{word}");
    }
    assert_eq!(place.run(&["-h"]).out, help.out);
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

/// The examples of the help, with programs of those names, as dry runs.
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
            // It wants a hugectl that is installed: see the recipes.
            continue;
        }
        let starts = !command.contains("--explain");
        let command = match command.contains("--status") {
            true => command.replace("postgres", "sh"),
            // Of a recorded machine there are no processes.
            false if command.contains("--pid") => command
                .replace("hugectl", "hugectl --dry-run")
                .replace("1234", "$$"),
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

/// The environment of an earlier hugectl is what `HUGETLB_VERBOSE` is for.
#[test]
fn verbosity_comes_from_the_environment_and_the_options() {
    let place = Place::new();
    let said = |line: &str| place.shell(line).err.matches("INFO").count();
    assert_eq!(said("hugectl --shm true"), 0);
    assert!(said("hugectl -v --shm true") >= 4);
    assert!(said("HUGETLB_VERBOSE=3 hugectl --shm true") >= 4);
    assert!(said("HUGETLB_DEBUG= hugectl --shm true") >= 4);
    assert_eq!(said("HUGETLB_VERBOSE=3 hugectl -q --shm true"), 0);
    let lines = place.shell("hugectl -v --shm true").err;
    assert!(
        lines.contains("hugectl: INFO: HUGETLB_SHM='yes'\n"),
        "{lines}"
    );
}

/// What a limit on the address space costs is said, and the program runs.
#[test]
fn a_limited_address_space_is_noticed() {
    let place = Place::new();
    let done = place.shell("ulimit -v 2000000; hugectl --heap echo here");
    assert_eq!((done.status, done.out.as_str()), (0, "here\n"));
    assert!(
        done.err.contains("limited to 2000000KB (ulimit -v)"),
        "{}",
        done.err
    );
}

/// A dozen descriptors is enough for what hugectl does on the way, whichever of the first three
/// are open.
#[test]
fn a_small_limit_of_descriptors() {
    let place = Place::new();
    for limit in [12, 16, 64] {
        for closed in ["", "exec 0<&-;", "exec <&- >&-;"] {
            let line = format!(
                "{closed} ulimit -n {limit}; exec hugectl --heap=thp --report=report \
                 sh -c 'kill -9 $$'"
            );
            let done = place.shell(&line);
            assert_eq!((done.status, done.err.as_str()), (137, ""), "{line}");
        }
    }
}

/// A copy that whoever starts it has another's rights by: they would be the program's.
#[test]
fn rights_of_its_own_start_nothing() {
    if !is_root("rights_of_its_own_start_nothing") {
        return;
    }
    let place = Place::new();
    place.shell("chmod 4755 prefix/bin/hugectl");
    let run = |options: &[&str]| {
        let command = place.command(options);
        done(&as_nobody(&command).output().unwrap())
    };
    let refused = run(&["-q", "--shm", "id", "-u"]);
    assert_eq!((refused.status, refused.out.as_str()), (125, ""));
    assert!(refused.err.contains("start it with a copy"), "{refused:?}");
    let printed = run(&["-q", "--dry-run", "--shm", "id"]);
    assert_eq!(printed.status, 0, "{printed:?}");
    // Whose rights they are anyway starts with it what it wants.
    assert_eq!(place.run(&["-q", "--shm", "id", "-u"]).out, "0\n");
}

#[test]
fn hugectl_needs_no_library_but_the_c_library() {
    let output = Command::new("readelf")
        .args(["-d", env!("CARGO_BIN_EXE_hugectl")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let needed: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("NEEDED"))
        .collect();
    assert!(
        needed.iter().all(|line| !line.contains("libgcc_s")),
        "{needed:?}"
    );
}

#[test]
fn a_program_that_is_written_to_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("busy");
    std::fs::copy("/bin/true", &program).unwrap();
    let open = std::fs::OpenOptions::new().append(true).open(&program);
    let output = tool("hugectl").arg("--shm").arg(&program).output().unwrap();
    drop(open.unwrap());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(126), "{said}");
    for part in ["(ETXTBSY)", "start it once that is closed"] {
        assert!(said.contains(part), "{said}");
    }
}

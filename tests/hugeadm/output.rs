//! Output to pipes, terminals and full disks.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::needs;
use crate::support::tool::{Run, hugeadm, tool};
use crate::support::tree;

/// Runs `--pool-list` with this standard output. Returns exit status and standard error.
fn listing_to(out: impl Into<Stdio>) -> (i32, String) {
    let dir = tree::machine("x86_64-8node");
    let mut command = tool("hugeadm");
    command.arg("--sysroot").arg(dir.path()).arg("--pool-list");
    let command = command.stdout(out).stderr(Stdio::piped());
    let ran = command.ran();
    (ran.status, ran.err)
}

#[test]
fn a_closed_pipe_is_no_failure_but_an_output_error_is() {
    let (reader, writer) = nix::unistd::pipe().unwrap();
    drop(reader);
    assert_eq!(listing_to(writer), (0, String::new()));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (status, err) = listing_to(full);
    assert_eq!(status, 1);
    let error = "hugeadm: error: cannot write to standard output";
    assert!(err.starts_with(error), "{err}");
}

#[test]
fn only_a_terminal_gets_a_line_for_each_change() {
    if !needs::terminal("changes on a terminal") {
        return;
    }
    let dir = tree::machine("x86_64-8node");
    let terminal = |args: &str| {
        let hugeadm = tool("hugeadm").get_program().to_owned();
        let line = format!(
            "{} --sysroot {} {args}",
            Path::new(&hugeadm).display(),
            dir.path().display()
        );
        let ran = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .output();
        String::from_utf8(ran.unwrap().stdout).unwrap()
    };
    let change = "--pool-pages-min DEFAULT:5 --pool-pages-max DEFAULT:7";
    let vm = "/proc/sys/vm";
    let lines = format!("{vm}/nr_hugepages: 74 -> 5\r\n{vm}/nr_overcommit_hugepages: 7 -> 2\r\n");
    assert_eq!(terminal(change), lines);
    assert_eq!(terminal(change), "");
    assert_eq!(terminal("--pool-pages-min DEFAULT:6 --verbose=1"), "");
    let mut piped = tool("hugeadm");
    piped
        .arg("--sysroot")
        .arg(dir.path())
        .args(["--pool-pages-min", "DEFAULT:4"]);
    assert_eq!(piped.output().unwrap().stdout, b"");
}

#[test]
fn an_invalid_meminfo_is_an_error_not_a_panic() {
    let dir = tree::machine("x86_64-8node");
    let meminfo = dir.path().join("proc/meminfo");
    let file = OpenOptions::new().write(true).truncate(true).open(meminfo);
    std::io::Write::write_all(&mut file.unwrap(), b"Hugepagesize: \xff kB\n").unwrap();
    for args in [&["--pool-list"][..], &["--pool-pages-min", "DEFAULT:5"]] {
        let ran = hugeadm(dir.path(), args);
        assert_eq!(ran.status, 1, "{args:?}");
        let error = "hugeadm: error: cannot read /proc/meminfo: invalid line";
        assert!(ran.err.starts_with(error), "{ran:?}");
    }
}

/// The kernel prints a negative counter as a huge unsigned number; hugeadm treats it as 0.
#[test]
fn negative_reservations_are_ignored() {
    const MINUS_58: &str = "18446744073709551558";
    let dir = tree::machine("x86_64-8node");
    let pool = dir.path().join("sys/kernel/mm/hugepages/hugepages-2048kB");
    let show = ["--pool-list", "--explain", "--stats", "--who"];
    let shown = || show.map(|option| hugeadm(dir.path(), &["--json", option]).out);
    tree::write(&pool.join("resv_hugepages"), "0\n");
    let before = shown();
    assert!(before[0].contains("\"reserved\": 0"), "{}", before[0]);
    tree::write(&pool.join("resv_hugepages"), &format!("{MINUS_58}\n"));
    assert_eq!(shown(), before);
    for text in shown() {
        assert!(!text.contains(MINUS_58), "{text}");
    }
}

/// Exceptions are hugeadm commands, for users to copy, and single words.
#[test]
fn lines_fit_the_terminal() {
    if !needs::terminal("the width of a terminal") {
        return;
    }
    let dir = tree::machine("x86_64-8node");
    let hugeadm = tool("hugeadm").get_program().to_owned();
    let hugeadm = format!(
        "{} --sysroot {}",
        Path::new(&hugeadm).display(),
        dir.path().display()
    );
    for columns in [40, 80, 200] {
        for args in [
            "",
            "-h",
            "--help",
            "--explain",
            "--stats",
            "--no-such-option",
            "--size-for sh",
        ] {
            let line = format!("stty rows 24 cols {columns}; {hugeadm} {args}");
            let ran = Command::new("script")
                .args(["-qec", &line, "/dev/null"])
                .output();
            let text = String::from_utf8(ran.unwrap().stdout).unwrap();
            assert!(!text.is_empty(), "{args}");
            let is_wide = |line: &&str| {
                let words = line.split_whitespace().count();
                line.trim_end().chars().count() > columns && words > 1 && !line.contains("hugeadm ")
            };
            let wide = text.lines().find(is_wide);
            assert_eq!(wide, None, "{columns} columns: {args}");
        }
    }
}

//! Output to pipes, terminals and full disks.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::needs;
use crate::support::tool::tool;
use crate::support::tree;

#[test]
fn a_closed_pipe_is_no_failure() {
    for args in [
        &["--help"][..],
        &["--pool-list"],
        &["--json", "--pool-list"],
    ] {
        let dir = tree::machine("x86_64-8node");
        let (reader, writer) = nix::unistd::pipe().unwrap();
        drop(reader);
        let mut command = tool("hugeadm");
        command.arg("--sysroot").arg(dir.path()).args(args);
        let output = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(
            (output.status.code(), output.stderr),
            (Some(0), Vec::new()),
            "{args:?}"
        );
    }
}

/// Only a terminal gets a line for each change.
#[test]
fn a_terminal_gets_the_changes() {
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
    let vm = "/proc/sys/vm/nr";
    let told = format!("{vm}_hugepages: 74 -> 5\r\n{vm}_overcommit_hugepages: 7 -> 2\r\n");
    assert_eq!(terminal(change), told);
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
fn an_output_error_is_a_failure() {
    for args in [
        &["--help"][..],
        &["--pool-list"],
        &["--json", "--pool-list"],
    ] {
        let dir = tree::machine("x86_64-8node");
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = tool("hugeadm");
        command.arg("--sysroot").arg(dir.path()).args(args);
        let output = command
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            told.starts_with("hugeadm:ERROR: cannot write to standard output"),
            "{told}"
        );
    }
}

#[test]
fn an_invalid_tree_is_a_failure_not_a_panic() {
    let dir = tree::machine("x86_64-8node");
    let meminfo = dir.path().join("proc/meminfo");
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(meminfo)
        .unwrap();
    std::io::Write::write_all(&mut file, b"Hugepagesize: \xff kB\n").unwrap();
    for args in [&["--pool-list"][..], &["--pool-pages-min", "DEFAULT:5"]] {
        let mut command = tool("hugeadm");
        let output = command
            .arg("--sysroot")
            .arg(dir.path())
            .args(args)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            told.starts_with("hugeadm:ERROR: cannot read /proc/meminfo: invalid line"),
            "{told}"
        );
    }
}

/// A kernel counter below zero is neither shown nor summed.
#[test]
fn negative_reservations_are_ignored() {
    const BELOW: &str = "18446744073709551558";
    let dir = tree::machine("x86_64-8node");
    let pool = dir.path().join("sys/kernel/mm/hugepages/hugepages-2048kB");
    let show = ["--pool-list", "--explain", "--stats", "--who"];
    let shown = || {
        let all = show.map(|option| tree_of(dir.path(), &["--json", option]));
        all.map(|text| text.replace("18446744073692774399", "the most"))
    };
    tree::write(&pool.join("resv_hugepages"), "0\n");
    let before = shown();
    assert!(before[0].contains("\"reserved\": 0"), "{}", before[0]);
    tree::write(&pool.join("resv_hugepages"), &format!("{BELOW}\n"));
    assert_eq!(shown(), before);
    for text in shown() {
        assert!(!text.contains(BELOW), "{text}");
    }
}

/// Returns hugeadm's output for a tree.
fn tree_of(tree: &std::path::Path, args: &[&str]) -> String {
    let mut command = tool("hugeadm");
    let output = command.arg("--sysroot").arg(tree).args(args).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

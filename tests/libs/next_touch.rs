//! Memory that moves to the node of its next toucher: on two nodes under the kernel of
//! `HUGETOOLS_NEW_KERNEL` (Linux 6.8 or later) or `/boot` (older), and on this machine's one node.
#![expect(clippy::disallowed_methods, reason = "reads a kernel file")]

use std::fs;
use std::process::Command;

use crate::libs::numa::node;
use crate::support::guest::{Guest, guest, guest_with_kernel_of};
use crate::support::live::skip;
use crate::support::needs::programs;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

/// The library without a malloc, with its messages.
const LIBRARY: &str = "HUGETLB_VERBOSE=3 LD_PRELOAD=/lib/libhugetlbfs.so";

/// Adds the program and hugectl to a machine.
fn equip(mut guest: Guest, parameters: &str) -> Option<Guest> {
    guest.install(&build("next_touch", Libc::Glibc, &[])?, "/bin/next_touch");
    guest.install_hugectl();
    guest.boot_with(parameters);
    Some(guest)
}

/// Runs commands, which must all succeed.
fn run_all(guest: &Guest, commands: &[String]) -> Vec<Ran> {
    let lines: Vec<&str> = commands.iter().map(String::as_str).collect();
    let runs = guest.run(&lines);
    for (command, ran) in commands.iter().zip(&runs) {
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
        assert!(ran.out.ends_with("end\n"), "{command}: {ran:?}");
    }
    runs
}

/// Asserts that each line about a range has all of it on node 1.
fn is_on_second(ran: &Ran, what: &str, megabytes: u32) {
    let begin = format!("{what} n0=");
    let wanted = format!("{what} n0=0 n1={} none=0 pool=0", megabytes * 1024);
    let mut lines = ran.out.lines().filter(|line| line.starts_with(&begin));
    assert!(lines.clone().count() > 0, "{what}: {ran:?}");
    assert!(lines.all(|line| line == wanted), "{what}: {ran:?}");
}

#[test]
fn memory_follows_its_next_toucher() {
    let test = "memory follows its toucher";
    let nodes = [node(600), node(600)];
    let guest = guest_with_kernel_of("HUGETOOLS_NEW_KERNEL", test, &nodes)
        .and_then(|guest| equip(guest, "numa_balancing=disable"));
    let Some(guest) = guest else {
        return;
    };
    let mut commands: Vec<String> = ["pieces 128", "both 64", "reads 64", "calls 80", "forks 32"]
        .map(|arguments| format!("{LIBRARY} next_touch {arguments}"))
        .into();
    commands.push("hugectl -v --next-touch --report=/run/report next_touch program 64; cat /run/report; echo end".into());
    commands.push("hugectl -v --heap=thp --next-touch --report=/run/heap next_touch heap 128; grep -o '\"next_touch.*' /run/heap; echo end".into());
    let runs = run_all(&guest, &commands);
    for what in ["touched", "base"] {
        is_on_second(&runs[0], what, 128);
    }
    assert!(runs[0].err.contains("can move to"), "{:?}", runs[0]);
    assert!(
        runs[1].out.contains("both n0=32768 n1=32768 "),
        "{:?}",
        runs[1]
    );
    is_on_second(&runs[4], "again", 32);
    is_on_second(&runs[5], "program", 64);
    let moved = "\"next_touch\":{\"moved\":67108864,\"touched\":67108864,\
                 \"local_before\":0,\"local_after\":67108864}";
    assert!(runs[5].out.contains(moved), "{:?}", runs[5]);
    assert!(runs[6].out.contains("\"touched\""), "{:?}", runs[6]);
}

#[test]
fn without_uffdio_move_nothing_moves() {
    let test = "next touch without UFFDIO_MOVE";
    let nodes = [node(700), node(700)];
    let Some(guest) = guest(test, &nodes).and_then(|guest| equip(guest, "")) else {
        return;
    };
    let runs = guest.run(&[
        &format!("{LIBRARY} next_touch ask 64"),
        "hugectl --next-touch next_touch program 64",
    ]);
    let failed = "FAILED huge_next_touch: Operation not supported";
    assert!(runs[0].out.contains(failed), "{:?}", runs[0]);
    for ran in &runs {
        let warnings = ran.err.matches("next touch: ").count();
        assert_eq!(warnings, 1, "{ran:?}");
        let why = "next touch: no pages will move, since UFFDIO_MOVE isn't available";
        assert!(ran.err.contains(why), "{ran:?}");
    }
}

#[test]
fn one_node_is_not_supported() {
    let test = "--next-touch with one node";
    if fs::read_to_string("/sys/devices/system/node/online").is_ok_and(|online| online != "0\n") {
        return skip(test, "this machine has several nodes").unwrap_or(());
    }
    let Some(program) = build("next_touch", Libc::Glibc, &[]) else {
        return;
    };
    let mut command = tool("hugectl");
    command
        .arg("--next-touch")
        .arg(program)
        .args(["one-node", "16"]);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.out, "-1 Operation not supported\n", "{ran:?}");
    let warning = "--next-touch does nothing: the machine has one memory node";
    assert!(ran.err.contains(warning), "{ran:?}");
}

#[test]
fn a_signal_waits_for_the_program() {
    let test = "signals beside the thread of --next-touch";
    if !programs(test, &["python3"]) {
        return;
    }
    let wait = "import os, signal, threading, time; n = signal.SIGRTMIN; \
                signal.pthread_sigmask(signal.SIG_BLOCK, [n]); \
                threading.Thread(target=time.sleep, args=(0.3,)).start(); time.sleep(0.2); \
                os.kill(os.getpid(), n); print(signal.sigwait([n]) == n)";
    let mut command = Command::new("python3");
    command.args(["-c", wait]);
    command.env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"));
    command.env("HUGETLB_NEXT_TOUCH", "1");
    let ran = command.ran();
    assert_eq!((ran.status, &*ran.out), (0, "True\n"), "{ran:?}");
}

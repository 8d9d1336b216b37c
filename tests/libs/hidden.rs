//! Where nothing can be seen of the kernel, as in a chroot without `/sys` and
//! `/proc`: transparent huge pages are tried, and what cannot be known is said.
#![expect(clippy::disallowed_methods, reason = "reads what is seen from outside")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::judge::Judged;
use crate::support::needs::{control_groups, mounts};
use crate::support::program::{Libc, build};
use crate::support::still::{Still, without_pool};
use crate::support::tool::{Ran, tool};

const SAID: &str = "/sys/kernel/mm is not there: transparent huge pages are asked for";

const POOLS: &str = "no huge page pool can be seen, since /proc/meminfo is not there";

/// hugectl where empty folders lie over these, in a name space of its own.
pub(super) fn hugectl(hidden: &[&str]) -> Command {
    let mounts: String = hidden
        .iter()
        .map(|folder| format!("mount -t tmpfs none {folder} && "))
        .collect();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{mounts}exec \"$@\""), "sh"]);
    command.arg(tool("hugectl").get_program());
    command
}

/// The machine, where private memory has transparent huge pages.
fn live(test: &str) -> Option<Still> {
    mounts(test).then_some(())?;
    let live = without_pool(test)?;
    live.thp_serves().then_some(live)
}

#[test]
fn without_sys_the_heap_is_tried_on_transparent_pages() {
    let Some(_live) = live("hidden sys") else {
        return;
    };
    let program = build("steps", Libc::Glibc, &[]).unwrap();
    for options in ["--heap", "--heap=thp"] {
        let mut command = hugectl(&["/sys"]);
        command.arg(options).arg(&program).args(["+300", "=full"]);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, 0, "{ran:?}");
        let full = Judged::find(&ran.out, "full");
        assert!(full.share(full.thp) >= 90, "{options}: {ran:?}");
        assert_eq!(ran.err.matches(SAID).count(), 1, "{options}: {ran:?}");
        assert!(!ran.err.contains("base pages"), "{options}: {ran:?}");
        // Nor is it known whether there are pools.
        assert!(
            !ran.err.contains("no huge page pools"),
            "{options}: {ran:?}"
        );
    }
}

/// Container engines lay something empty over what they hide.
#[test]
fn where_settings_are_empty_nothing_is_denied() {
    let Some(_live) = live("empty settings") else {
        return;
    };
    let hugectl = || hugectl(&["/sys/kernel/mm"]);
    let program = build("steps", Libc::Glibc, &[]).unwrap();
    for options in ["--heap", "--heap=thp"] {
        let mut command = hugectl();
        command.arg(options).arg(&program).args(["+300", "=full"]);
        let ran: Ran = command.output().unwrap().into();
        let full = Judged::find(&ran.out, "full");
        assert!(full.share(full.thp) >= 90, "{options}: {ran:?}");
        let said = "/sys/kernel/mm is empty: transparent huge pages are asked for";
        assert_eq!(ran.err.matches(said).count(), 1, "{options}: {ran:?}");
        let mut command = hugectl();
        command.args(["--json", "--explain", options]).arg(&program);
        let ran: Ran = command.output().unwrap().into();
        let all: serde_json::Value = serde_json::from_str(&ran.out).expect(&ran.out);
        for denied in ["has no transparent huge pages", "free_hugepages"] {
            assert!(!ran.out.contains(denied), "{options}: {all}");
        }
        assert!(ran.out.contains("mount -t sysfs sysfs /sys"), "{all}");
    }
}

#[test]
fn without_proc_it_is_tried_too() {
    let Some(_live) = live("hidden proc") else {
        return;
    };
    let program = build("steps", Libc::Glibc, &[]).unwrap();
    let mut command = hugectl(&["/sys", "/proc"]);
    command.arg("--heap=thp").arg(&program);
    command.args(["+100", "?"]).stdin(Stdio::piped());
    command.stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It waits for a line once the blocks are filled; by then it is the program.
    let filled = || huge(child.id()) >= 90 << 10;
    let is_filled = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        filled()
    });
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut said = String::new();
    let mut err = child.stderr.take().unwrap();
    err.read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(is_filled, "{said}");
    assert_eq!(said.matches(SAID).count(), 1, "{said}");
    assert!(!said.contains("base pages"), "{said}");
}

/// A control group's limit is somewhere else: the heap is tried by what is free.
#[test]
fn without_control_groups_it_is_tried_and_said() {
    let Some(_live) = live("hidden control groups") else {
        return;
    };
    if !control_groups("hidden control groups") {
        return;
    }
    let program = build("steps", Libc::Glibc, &[]).unwrap();
    // What lies below is in the mount table all the same.
    for hide in [
        "umount -R -l /sys/fs/cgroup",
        "mount -t tmpfs none /sys/fs/cgroup",
    ] {
        let mut command = Command::new("unshare");
        let line = format!("{hide} && exec \"$@\"");
        // A namespace of its own: its group is the root of what it sees.
        command.args(["--mount", "--cgroup", "sh", "-c", &line, "sh"]);
        command.arg(tool("hugectl").get_program());
        command.args(["-v", "--heap=thp"]).arg(&program);
        let ran: Ran = command.args(["+300", "=full"]).output().unwrap().into();
        assert_eq!(ran.status, 0, "{ran:?}");
        let full = Judged::find(&ran.out, "full");
        assert!(full.share(full.thp) >= 90, "{hide}: {ran:?}");
        let told = "what the memory control group allows cannot be seen";
        assert_eq!(ran.err.matches(told).count(), 1, "{hide}: {ran:?}");
    }
}

/// What a process has on transparent huge pages, in kB, seen from outside.
fn huge(pid: u32) -> u64 {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = std::fs::read_to_string(Path::new(&path)).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("AnonHugePages:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(0, |number| number.parse().unwrap())
}

/// Whether there are pools is not known there, either.
#[test]
fn without_proc_nothing_is_said_to_be_missing() {
    if !mounts("programs without /proc") {
        return;
    }
    for (option, status) in [("--heap", 0), ("--heap=2MB", 125)] {
        let mut command = hugectl(&["/sys", "/proc"]);
        let ran: Ran = command.args([option, "true"]).output().unwrap().into();
        assert_eq!(ran.status, status, "{ran:?}");
        assert!(ran.err.contains(POOLS), "{ran:?}");
        assert!(!ran.err.contains("has no huge page"), "{ran:?}");
    }
}

/// `--explain` says what it can, and how to see the rest.
#[test]
fn without_proc_it_is_explained_all_the_same() {
    if !mounts("an explanation without /proc") {
        return;
    }
    let explained = |hidden: &[&str]| -> serde_json::Value {
        let mut command = hugectl(hidden);
        command.args(["--json", "--explain", "--text", "--heap", "--shm", "ls"]);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, 3, "{ran:?}");
        serde_json::from_str(&ran.out).expect(&ran.out)
    };
    for hidden in [&["/sys", "/proc"][..], &["/proc"]] {
        let all = explained(hidden);
        for segment in ["heap", "shm"] {
            let rows = all["segments"].as_array().unwrap();
            let row = rows.iter().find(|row| row["segment"] == segment).unwrap();
            let short = &row["shortfalls"][0];
            assert_eq!(short["file"], "/proc/meminfo", "{all}");
            assert_eq!(short["command"], "mount -t proc proc /proc", "{all}");
        }
    }
    let all = explained(&["/sys", "/proc"]);
    assert!(!all.to_string().contains("this machine has no"), "{all}");
}

/// Who does not see the processes of others is told so.
#[test]
fn where_processes_are_hidden_that_is_said() {
    if !mounts("hidden processes") {
        return;
    }
    let hide = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups --";
    let run = |before: &str, name: &str, words: &str| -> String {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", hide, "sh"]);
        command.args(before.split_whitespace());
        command.arg(tool(name).get_program()).args(words.split(' '));
        let ran: Ran = command.output().unwrap().into();
        format!("{}{}", ran.out, ran.err)
    };
    for (name, words) in [
        ("hugectl", "--status all"),
        ("hugectl", "--status init"),
        ("hugectl", "--status 1"),
        ("hugectl", "--pid init"),
        ("hugeadm", "--who"),
    ] {
        let (said, seen) = (run(nobody, name, words), run("", name, words));
        let hidden = "/proc is mounted with hidepid=";
        assert!(said.contains(hidden), "{name} {words}: {said}");
        assert!(!said.contains("there is no process"), "{said}");
        assert!(!seen.contains(hidden), "{name} {words}: {seen}");
    }
}

/// Nobody is said not to be there, nor anything not to be counted, who or what cannot be
/// seen.
#[test]
fn without_proc_nothing_is_denied() {
    if !mounts("tools without /proc") {
        return;
    }
    for (name, words, said) in [
        ("hugectl", "--status all", "no process can be seen: /proc"),
        ("hugectl", "--status init", "no process can be seen: /proc"),
        ("hugectl", "--pid init", "no process can be seen: /proc"),
        (
            "hugectl",
            "--data true",
            "cannot be told, since /proc/meminfo",
        ),
        (
            "hugectl",
            "--explain --text true",
            "cannot be told, since /proc/meminfo",
        ),
        ("hugeadm", "--who", "can be seen, since /proc/meminfo"),
        (
            "hugeadm",
            "--list-all-mounts",
            "can be seen, since /proc/self/mountinfo",
        ),
        (
            "hugeadm",
            "--stats",
            "unknown: the kernel's files are missing",
        ),
    ] {
        let mut command = Command::new("unshare");
        let hide = "mount -t tmpfs none /sys && mount -t tmpfs none /proc && exec \"$@\"";
        command.args(["--mount", "sh", "-c", hide, "sh"]);
        command.arg(tool(name).get_program()).args(words.split(' '));
        let ran: Ran = command.output().unwrap().into();
        let all = format!("{}{}", ran.out, ran.err);
        assert!(all.contains(said), "{name} {words}: {ran:?}");
        for denied in [
            "this machine has no",
            "this kernel counts",
            "nobody",
            "is mounted\n",
            "there is no",
        ] {
            assert!(!all.contains(denied), "{name} {words}: {ran:?}");
        }
    }
}

//! Chroots and containers that hide `/sys`, `/proc`, control groups or other processes: transparent
//! huge pages are tried, and hidden files are not reported as missing.
#![expect(clippy::disallowed_methods, reason = "reads /proc of a process")]

use std::process::Command;

use super::smaps::HeapPages;
use crate::support::empty_pool::{empty_pool_machine, thp_machine};
use crate::support::needs::{control_groups, mounts};
use crate::support::program::{Libc, build};
use crate::support::running::Running;
use crate::support::tool::{Run, tool};

/// Returns a command that runs a tool after these mounts, in its own namespaces.
fn after(mounts: &str, name: &str) -> Command {
    let mut command = Command::new("unshare");
    let line = format!("{mounts} && exec \"$@\"");
    command.args(["--mount", "--cgroup", "sh", "-c", &line, "sh"]);
    command.arg(tool(name).get_program());
    command
}

const NO_SYS: &str = "mount -t tmpfs none /sys";
const NO_PROC: &str = "mount -t tmpfs none /sys && mount -t tmpfs none /proc";

#[test]
fn without_sys_a_heap_tries_transparent_pages() {
    if !mounts("hidden sys") {
        return;
    }
    let Some(_live) = thp_machine("hidden sys") else {
        return;
    };
    let program = build("steps", Libc::Glibc, &[]).unwrap();
    // Container engines hide files below an empty mount.
    for hide in [NO_SYS, "mount -t tmpfs none /sys/kernel/mm"] {
        for option in ["--heap", "--heap=thp"] {
            let mut command = after(hide, "hugectl");
            command.arg(option).arg(&program).args(["+300", "=full"]);
            let ran = command.ran();
            let full = HeapPages::find(&ran.out, "full");
            assert!(full.share(full.thp) >= 90, "{hide} {option}: {ran:?}");
            let message = "whether transparent huge pages can be had";
            assert_eq!(ran.err.matches(message).count(), 1, "{hide}: {ran:?}");
            assert!(!ran.err.contains("no huge page pools"), "{hide}: {ran:?}");
        }
    }
}

#[test]
fn without_proc_a_heap_tries_transparent_pages() {
    if !mounts("hidden proc") {
        return;
    }
    let Some(_live) = thp_machine("hidden proc") else {
        return;
    };
    let program = build("steps", Libc::Glibc, &[]).unwrap();
    let mut command = after(NO_PROC, "hugectl");
    command.arg("--heap=thp").arg(&program).args(["+100", "?"]);
    let running = Running::start(&mut command);
    // The program waits for a line once its blocks are filled.
    let is_filled = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        huge_kib(running.id()) >= 90 << 10
    });
    let ran = running.end();
    assert!(ran.status == 0 && is_filled, "{ran:?}");
    assert!(!ran.err.contains("base pages"), "{ran:?}");
}

/// Returns a process's transparent huge pages in KiB, seen from outside its namespace.
fn huge_kib(pid: u32) -> u64 {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("AnonHugePages:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(0, |number| number.parse().unwrap())
}

#[test]
fn without_control_groups_a_heap_tries_transparent_pages() {
    if !mounts("hidden control groups") || !control_groups("hidden control groups") {
        return;
    }
    let Some(_live) = thp_machine("hidden control groups") else {
        return;
    };
    let program = build("steps", Libc::Glibc, &[]).unwrap();
    let mut command = after("mount -t tmpfs none /sys/fs/cgroup", "hugectl");
    command.arg("--heap=thp").arg(&program);
    let ran = command.args(["+300", "=full"]).ran();
    let full = HeapPages::find(&ran.out, "full");
    assert!(full.share(full.thp) >= 90, "{ran:?}");
}

#[test]
fn hidden_files_and_processes_are_not_called_missing() {
    if !mounts("tools without /proc") {
        return;
    }
    let Some(_live) = empty_pool_machine("tools without /proc") else {
        return;
    };
    let hidepid = "mount -t proc -o hidepid=2 proc /proc";
    let nobody = "mount -t proc -o hidepid=2 proc /proc && \
                  set -- setpriv --reuid=65534 --regid=65534 --clear-groups -- \"$@\"";
    let no_process = "no process can be seen: /proc";
    for (hide, name, words, message, is_reported) in [
        (NO_PROC, "hugectl", "--status all", no_process, true),
        (NO_PROC, "hugectl", "--data true", "/proc/meminfo", true),
        (NO_PROC, "hugectl", "--heap=2MB true", "/proc/meminfo", true),
        (
            NO_PROC,
            "hugectl",
            "--explain --heap --shm true",
            "mount -t proc",
            true,
        ),
        (NO_PROC, "hugeadm", "--who", "/proc/meminfo", true),
        (
            NO_PROC,
            "hugeadm",
            "--list-all-mounts",
            "/proc/meminfo is missing",
            true,
        ),
        (nobody, "hugectl", "--status init", "hidepid=", true),
        (nobody, "hugeadm", "--who", "hidepid=", true),
        (hidepid, "hugeadm", "--who", "hidepid=", false),
    ] {
        let mut command = after(hide, name);
        let ran = command.args(words.split(' ')).ran();
        let all = format!("{}{}", ran.out, ran.err);
        assert_eq!(
            all.contains(message),
            is_reported,
            "{name} {words}: {ran:?}"
        );
        for denied in ["this machine has no", "there is no"] {
            assert!(
                !is_reported || !all.contains(denied),
                "{name} {words}: {ran:?}"
            );
        }
    }
}

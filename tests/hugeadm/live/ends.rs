//! Interrupted and concurrent runs on the running machine.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{gigantic, is_settled};
use crate::support::kill::kill_at;
use crate::support::live::{Live, machine, skip};
use crate::support::tool::tool;

const SWAP: &str = "/var/lib/hugetlbfs/swap/temp/swapfile";

/// Starts hugeadm with default signal actions. A background job may ignore signals, and
/// hugeadm would inherit that.
fn start(args: &[&str]) -> Child {
    let hugeadm = tool("hugeadm");
    let mut command = Command::new("/usr/bin/env");
    command
        .env_clear()
        .env("LC_ALL", "C")
        .arg("--default-signal=INT,TERM,HUP")
        .arg(hugeadm.get_program())
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Sends a signal. The process may have ended already.
fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let _ = kill(pid, signal);
}

/// Whether no swap and no journal is left and each pool has its old or its new maximum.
fn is_clean(live: &Live) -> bool {
    let note = Path::new("/run/hugetools/hugeadm.unfinished").exists();
    live.now().swaps.is_empty() && !Path::new(SWAP).exists() && !note
}

/// Starts a run, and sends a signal once it uses swap.
fn ended_by(live: &Live, args: &[&str], signal: Signal) -> Output {
    let mut child = start(args);
    let ended = |child: &mut Child| child.try_wait().unwrap().is_some();
    while live.now().swaps.is_empty() && !ended(&mut child) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    if !ended(&mut child) {
        send(&child, signal);
    }
    child.wait_with_output().unwrap()
}

#[test]
fn a_signal_leaves_a_consistent_state() {
    let Some(live) = machine("signals") else {
        return;
    };
    if live.now().pool(gigantic()).is_none() {
        return skip("signals", "this machine has no 1 GiB pages").unwrap_or(());
    }
    let asked = live.now().meminfo.total.get() >> 30;
    let spec = format!("1GB:{asked}");
    let args = [
        "--json",
        "--force",
        "--hard",
        "--add-temp-swap=1",
        "--pool-pages-min",
        &spec,
        "--create-mounts",
    ];
    // On a busy machine the run may end before the signal arrives.
    let output = (0..5)
        .map(|_| ended_by(&live, &args, Signal::SIGTERM))
        .find(|output| output.status.signal().is_some())
        .expect("a run that the signal meets");
    assert_eq!(output.status.signal(), Some(libc::SIGTERM), "{output:?}");
    assert!(is_clean(&live));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["status"], 128 + libc::SIGTERM);
    let tasks = document["tasks"].as_array().unwrap();
    let outcome = |task: &str| {
        let task = tasks.iter().rfind(|found| found["option"] == task).unwrap();
        task["steps"].as_array().unwrap().last().unwrap()["outcome"].clone()
    };
    assert_eq!(outcome(&format!("--pool-pages-min {spec}")), "short");
    assert_eq!(outcome("--add-temp-swap=1"), "changed");
    assert_eq!(outcome("--create-mounts"), "not_run");
}

#[test]
fn the_next_run_repairs_a_killed_one() {
    let Some(live) = machine("killing at every step") else {
        return;
    };
    let size = live.default_size();
    let start = [
        "--pool-pages-min=DEFAULT:10",
        "--pool-pages-max=DEFAULT:90",
        "--set-shm-group=0",
    ];
    let args = [
        "--set-shm-group=1",
        "--add-temp-swap=2",
        "--pool-pages-min=DEFAULT:40",
        "--create-user-mounts=daemon",
    ];
    let mounts = live.now().mounts.len() + live.now().pools.len();
    // A prime, so that each kind of step is met.
    for at in (0..).step_by(7) {
        live.hugeadm(&["--unmount"]);
        assert_eq!(live.hugeadm(&start).status, 0);
        assert_eq!(live.pool(size), (10, 80));
        let mut command = tool("hugeadm");
        command
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !kill_at(&mut command, at) {
            assert!(at > 60, "only {at} steps");
            break;
        }
        let ran = live.hugeadm(&args);
        assert_eq!(ran.status, 0, "killed at {at}: {ran:?}");
        assert!(is_clean(&live), "killed at {at}: {ran:?}");
        assert_eq!(live.pool(size), (40, 50), "killed at {at}: {ran:?}");
        assert_eq!(live.now().mounts.len(), mounts, "killed at {at}: {ran:?}");
        assert!(is_settled(&live, &args), "killed at {at}");
    }
}

//! Runs of hugeadm that a signal interrupts, on the running machine.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{gigantic, hugeadm_swaps};
use crate::support::live::{Live, machine, skip};
use crate::support::tool::tool;

const SWAP: &str = "/var/lib/hugetlbfs/swap/temp/swapfile";

/// Starts hugeadm with default signal actions, since a background job may ignore signals.
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

/// Whether no swap is left.
fn is_clean(live: &Live) -> bool {
    hugeadm_swaps(live).is_empty() && !Path::new(SWAP).exists()
}

/// Starts a run, and interrupts it 300 ms after it has added swap.
fn run_until_signal(live: &Live, args: &[&str], signal: Signal) -> Output {
    let mut child = start(args);
    let ended = |child: &mut Child| child.try_wait().unwrap().is_some();
    while hugeadm_swaps(live).is_empty() && !ended(&mut child) {
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
    let requested = live.now().meminfo.total.get() >> 30;
    let spec = format!("1GB:{requested}");
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
        .map(|_| run_until_signal(&live, &args, Signal::SIGTERM))
        .find(|output| output.status.signal().is_some())
        .expect("a run that is interrupted");
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

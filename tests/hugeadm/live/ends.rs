//! Interrupted and concurrent runs on the running machine.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::gigantic;
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

/// Whether no swap is left.
fn is_clean(live: &Live) -> bool {
    live.now().swaps.is_empty() && !Path::new(SWAP).exists()
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
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        live.hugeadm(&["--pool-pages-min", "1GB:0"]);
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
            .map(|_| ended_by(&live, &args, signal))
            .find(|output| output.status.signal().is_some())
            .expect("a run that the signal meets");
        assert_eq!(output.status.signal(), Some(signal as i32), "{output:?}");
        assert!(is_clean(&live), "{signal}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["status"], 128 + signal as i32);
        let tasks = document["tasks"].as_array().unwrap();
        let outcome = |task: &str| {
            let task = tasks.iter().rfind(|found| found["option"] == task).unwrap();
            task["steps"].as_array().unwrap().last().unwrap()["outcome"].clone()
        };
        assert_eq!(outcome(&format!("--pool-pages-min {spec}")), "short");
        assert_eq!(outcome("--add-temp-swap=1"), "changed");
        assert_eq!(outcome("--create-mounts"), "not_run");
    }
}

/// A large pool of small pages: a signal ends the search at once.
#[test]
fn a_signal_ends_the_search() {
    let Some(live) = machine("a search cut short") else {
        return;
    };
    let size = live.default_size();
    let half = live.now().meminfo.available.unwrap().get() / 2 / size.get();
    let begin = Instant::now();
    live.hugeadm(&["--pool-pages-min", &format!("DEFAULT:{half}")]);
    let whole = begin.elapsed();
    // Other programs may use memory or fragment it.
    let pages = live.pool(size).0 * 9 / 10;
    let spec = format!("DEFAULT:{pages}");
    let mut cut = 0;
    // The duration depends on load and on fragmentation, so the test searches for the
    // right delay.
    let mut delay = whole / 2;
    for _ in 0..60 {
        if cut == 3 {
            break;
        }
        live.hugeadm(&["--pool-pages-max", "DEFAULT:0"]);
        let child = start(&["--pool-pages-min", &spec]);
        std::thread::sleep(delay);
        send(&child, Signal::SIGINT);
        let output = child.wait_with_output().unwrap();
        let (minimum, overcommit) = live.pool(size);
        let maximum = minimum + overcommit;
        assert!(maximum == pages || maximum == 0, "{minimum} {overcommit}");
        assert!(is_clean(&live));
        delay = match minimum {
            0 => delay * 13 / 10 + Duration::from_millis(1),
            _ if minimum == pages => delay * 7 / 10,
            _ => delay,
        };
        if minimum > 0 && minimum < pages {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                told.contains(&format!("asked {pages}, got {minimum}\n")),
                "{told}"
            );
            assert_eq!(output.status.signal(), Some(libc::SIGINT));
            cut += 1;
        }
    }
    assert!(cut > 0, "never between begin and end, in {whole:?}");
}

#[test]
fn differences_of_several_runs_add_up() {
    let Some(live) = machine("several at once") else {
        return;
    };
    let before = live.pool(live.default_size()).0;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let ran = tool("hugeadm")
                        .args(["--pool-pages-min", "DEFAULT:+1"])
                        .status();
                    assert!(ran.unwrap().success());
                }
            });
        }
    });
    assert_eq!(live.pool(live.default_size()).0, before + 20);
}

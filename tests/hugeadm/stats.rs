//! `--stats --watch`: counters and their changes, printed repeatedly.

mod metrics;

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::live::machine;
use crate::support::tool::tool;
use crate::support::tree;

/// Starts a watch of a recorded tree.
fn watch(dir: &Path, args: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut command = tool("hugeadm");
    command
        .arg("--sysroot")
        .arg(dir)
        .args(["--stats", "--watch=0.1"]);
    let mut child = command.args(args).stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out.lines())
}

/// Returns an event's count since boot and since the last line.
fn event(line: &str, name: &str) -> (u64, Option<i64>) {
    let document: Value = serde_json::from_str(line).unwrap();
    let events = document["events"].as_array().unwrap();
    let found = events.iter().find(|event| event["event"] == name).unwrap();
    (found["boot"].as_u64().unwrap(), found["last"].as_i64())
}

/// Ends a watch by a signal that background jobs don't ignore.
fn interrupt(mut child: Child) {
    let pid = Pid::from_raw(child.id().try_into().unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGTERM as i32));
}

#[test]
fn each_line_of_a_watch_has_the_changes_since_the_last() {
    let dir = tree::machine("x86_64-6.18-counters");
    let (child, mut lines) = watch(dir.path(), &["--json"]);
    let mut next = || event(&lines.next().unwrap().unwrap(), "thp_fault_alloc");
    let (boot, last) = next();
    assert_eq!(last, None);
    let vmstat = dir.path().join("proc/vmstat");
    let before = format!("thp_fault_alloc {boot}\n");
    let after = tree::text(&vmstat).replace(&before, &format!("thp_fault_alloc {}\n", boot + 5));
    // rename() is atomic: a reader gets the old or the new file.
    let new = dir.path().join("proc/vmstat.new");
    std::fs::copy(&vmstat, &new).unwrap();
    tree::write(&new, &after);
    std::fs::rename(&new, &vmstat).unwrap();
    let mut looks = std::iter::from_fn(|| Some(next())).take(1000);
    let changed = looks.find(|(now, _)| *now != boot);
    assert_eq!(changed, Some((boot + 5, Some(5))));
    assert_eq!(next(), (boot + 5, Some(0)));
    interrupt(child);
}

/// A watch without a reader ends.
#[test]
fn a_watch_ends_without_a_reader() {
    for json in [&["--json"][..], &[]] {
        let dir = tree::machine("x86_64-8node");
        let (mut child, mut lines) = watch(dir.path(), json);
        lines.next().unwrap().unwrap();
        drop(lines);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

/// The memory reported as available can be allocated, and the kernel counts it.
#[test]
fn available_memory_can_be_allocated() {
    let Some(live) = machine("stats") else {
        return;
    };
    let size = live.default_size().get().to_string();
    let stats = || -> Value {
        let ran = live.hugeadm(&["--stats", "--json"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    };
    let made = |stats: &Value| event(&stats.to_string(), "htlb_buddy_alloc_success").0;
    live.set_pool(0);
    let before = stats();
    let available = before["available"][&size].as_u64().unwrap();
    let pages = available.min(64);
    live.set_pool(pages);
    assert!(made(&stats()) >= made(&before) + pages, "{available}");
}

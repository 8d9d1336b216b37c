//! Daemons that the program leaves running. hugectl is a subreaper, so they are its descendants.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use hugetools_contract::report::{Proof, is_shell};
use hugetools_model::Root;
use hugetools_model::process::{self, Pid, Stat};

use crate::status::{OwnOrigin, Snapshot, render, select};
use crate::sys::program;

/// Time for a daemon to finish its second fork.
const SETTLE: Duration = Duration::from_millis(20);

/// Finds the descendants of this process that began at `start` or later, except shells that wait
/// for a child. Returns each with its parent.
pub(super) fn find(root: &Root, start: u64) -> BTreeMap<u32, u32> {
    if !program::has_children() {
        return BTreeMap::new();
    }
    std::thread::sleep(SETTLE);
    let pids = select::all(root).map(Pid::get);
    let parents: BTreeMap<u32, u32> = pids
        .filter_map(|pid| Some((pid, living(root, pid, start)?)))
        .collect();
    let own = std::process::id();
    let is_descendant = |pid: u32| {
        let parent = |pid: &u32| parents.get(pid).copied().filter(|parent| parent != pid);
        std::iter::successors(Some(pid), parent).any(|pid| pid == own)
    };
    let mut found = parents.clone();
    found.retain(|pid, _| *pid != own && is_descendant(*pid));
    let has_child: Vec<u32> = found.values().copied().collect();
    found.retain(|pid, _| !(has_child.contains(pid) && runs_shell(root, *pid)));
    found
}

/// Returns the parent of a running process that began at `start` or later.
fn living(root: &Root, pid: u32, start: u64) -> Option<u32> {
    let text = root.read(&Pid::new(pid)?.path("stat")).ok()?;
    let stat = Stat::parse(&text)?;
    let runs = !stat.is_over()? && stat.start()? >= start;
    stat.parent().filter(|_| runs)
}

/// Returns when a process began, in clock ticks since boot.
pub(super) fn start(root: &Root, pid: u32) -> u64 {
    let text = Pid::new(pid).and_then(|pid| root.read(&pid.path("stat")).ok());
    let start = text.and_then(|text| Stat::parse(&text)?.start());
    start.unwrap_or(u64::MAX)
}

fn runs_shell(root: &Root, pid: u32) -> bool {
    let exe = Pid::new(pid).and_then(|pid| process::exe(root, pid).ok());
    exe.is_some_and(|exe| is_shell(exe.as_os_str().as_bytes()))
}

/// Returns the reports: one for the eldest of each family with the library, and a warning for the
/// eldest of each family without it.
pub(super) fn reports(
    root: &Root,
    all: &BTreeMap<u32, u32>,
    json: bool,
    warns: bool,
) -> Vec<String> {
    let libraries = all.keys().map(|pid| (*pid, library(root, *pid)));
    let libraries: BTreeMap<u32, Option<bool>> = libraries.collect();
    let has_library = |pid: u32| libraries.get(&pid).copied().flatten();
    let with = eldest(all, |pid| has_library(pid) == Some(true));
    let mut reports: Vec<String> = with.iter().map(|pid| report(root, *pid, json)).collect();
    if warns {
        let without = eldest(all, |pid| has_library(pid) != Some(true));
        let warning = |pid| warning(root, pid, json, has_library(pid).is_none());
        reports.extend(without.into_iter().map(warning));
    }
    reports
}

/// Returns the processes that fit `is_it` and whose parents don't.
fn eldest(all: &BTreeMap<u32, u32>, is_it: impl Fn(u32) -> bool) -> Vec<u32> {
    let found: Vec<u32> = all.keys().copied().filter(|pid| is_it(*pid)).collect();
    let is_eldest = |pid: &u32| all.get(pid).is_none_or(|parent| !found.contains(parent));
    found.iter().copied().filter(is_eldest).collect()
}

/// Whether one of our libraries is in a process; `None` if its mappings are unreadable.
fn library(root: &Root, pid: u32) -> Option<bool> {
    let maps = root.read(&Pid::new(pid)?.path("maps")).ok()?;
    let has = |text: &[u8]| memchr::memmem::find(&maps, text).is_some();
    // The kernel may truncate the list of an exiting process. The stack comes near the end.
    match (has(b"/libhugetlbfs"), has(b"[stack]")) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

fn report(root: &Root, pid: u32, json: bool) -> String {
    let snapshot = Pid::new(pid).and_then(|id| Snapshot::take(root, id, None).ok());
    let text = snapshot.map(|snapshot| snapshot.to_text(json));
    match text {
        Some(text) if !json => {
            format!("still running, as it is now (later: hugectl --status {pid}):\n{text}")
        }
        text => text.unwrap_or_default(),
    }
}

/// Returns the warning about a process that lacks the library, or is unreadable.
fn warning(root: &Root, pid: u32, json: bool, is_hidden: bool) -> String {
    let Some(id) = Pid::new(pid) else {
        return String::new();
    };
    let name = process::name(root, id).unwrap_or_default();
    let why = match process::is_secure(root, id) {
        _ if is_hidden => "may not be inspected: run hugectl --status as root",
        Some(true) => {
            "lacks the library: exec raised its privileges (AT_SECURE), so its loader ignores \
             LD_PRELOAD; hugectl --pid, as root, reaches it"
        }
        _ => {
            "lacks the library: its starter dropped the environment; put hugectl between the \
             starter and the program"
        }
    };
    let comm = String::from_utf8_lossy(&name);
    let text = format!("process {pid} ({comm}) still runs and {why}");
    if !json {
        return format!("hugectl: warning: {text}\n");
    }
    let exe = process::exe(root, id).unwrap_or_else(|_error| "?".into());
    let origin = OwnOrigin::find(root, id);
    let proof = Proof {
        pid,
        exe: exe.as_os_str().as_bytes(),
        name: &name,
        origin: origin.get(),
        warning: Some(&text),
        ..Proof::UNKNOWN
    };
    render(&proof, true)
}

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
pub(super) fn find(root: &Root, start: u64) -> BTreeMap<Pid, Pid> {
    if !program::has_children() {
        return BTreeMap::new();
    }
    std::thread::sleep(SETTLE);
    let parents: BTreeMap<Pid, Pid> = select::all(root)
        .filter_map(|pid| Some((pid, living(root, pid, start)?)))
        .collect();
    let is_descendant = |pid: Pid| {
        let mut ancestors = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
        ancestors.any(|pid| pid.get() == std::process::id())
    };
    let mut found = parents.clone();
    found.retain(|pid, _| is_descendant(*pid));
    let has_child: Vec<Pid> = found.values().copied().collect();
    found.retain(|pid, _| !(has_child.contains(pid) && runs_shell(root, *pid)));
    found
}

/// Returns the parent of a running process that began at `start` or later.
fn living(root: &Root, pid: Pid, start: u64) -> Option<Pid> {
    let text = root.read(&pid.path("stat")).ok()?;
    let stat = Stat::parse(&text)?;
    let runs = !stat.is_over()? && stat.start()? >= start;
    Pid::new(stat.parent()?).filter(|_| runs)
}

/// Returns when a process began, in clock ticks since boot.
pub(super) fn start(root: &Root, pid: u32) -> u64 {
    let text = Pid::new(pid).and_then(|pid| root.read(&pid.path("stat")).ok());
    let start = text.and_then(|text| Stat::parse(&text)?.start());
    start.unwrap_or(u64::MAX)
}

fn runs_shell(root: &Root, pid: Pid) -> bool {
    process::exe(root, pid).is_ok_and(|exe| is_shell(exe.as_os_str().as_bytes()))
}

/// Returns the reports: one for the eldest of each family with the library, and a warning for the
/// eldest of each family without it.
pub(super) fn reports(
    root: &Root,
    all: &BTreeMap<Pid, Pid>,
    json: bool,
    warns: bool,
) -> Vec<String> {
    let libraries = all.keys().map(|pid| (*pid, library(root, *pid)));
    let libraries: BTreeMap<Pid, Option<bool>> = libraries.collect();
    let has_library = |pid: Pid| libraries.get(&pid).copied().flatten();
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
fn eldest(all: &BTreeMap<Pid, Pid>, is_it: impl Fn(Pid) -> bool) -> Vec<Pid> {
    let found: Vec<Pid> = all.keys().copied().filter(|pid| is_it(*pid)).collect();
    let is_eldest = |pid: &Pid| all.get(pid).is_none_or(|parent| !found.contains(parent));
    found.iter().copied().filter(is_eldest).collect()
}

/// Whether one of our libraries is in a process; `None` if its mappings are unreadable.
fn library(root: &Root, pid: Pid) -> Option<bool> {
    let maps = root.read(&pid.path("maps")).ok()?;
    let has = |text: &[u8]| memchr::memmem::find(&maps, text).is_some();
    // The kernel may truncate the list of an exiting process. The stack comes near the end.
    match (has(b"/libhugetlbfs"), has(b"[stack]")) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

fn report(root: &Root, pid: Pid, json: bool) -> String {
    match Snapshot::take(root, pid, None).map(|snapshot| snapshot.to_text(json)) {
        Ok(text) if !json => {
            format!("still running, as it is now (later: hugectl --status {pid}):\n{text}")
        }
        Ok(text) => text,
        // It has ended meanwhile.
        Err(_) => String::new(),
    }
}

/// Returns the warning about a process that lacks the library, or is unreadable.
fn warning(root: &Root, pid: Pid, json: bool, is_hidden: bool) -> String {
    let name = process::name(root, pid).unwrap_or_default();
    let why = match process::is_secure(root, pid) {
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
    let exe = process::exe(root, pid).unwrap_or_else(|_error| "?".into());
    let origin = OwnOrigin::find(root, pid);
    let proof = Proof {
        pid: pid.get(),
        exe: exe.as_os_str().as_bytes(),
        name: &name,
        origin: origin.get(),
        warning: Some(&text),
        ..Proof::UNKNOWN
    };
    render(&proof, true)
}

//! Daemons that the program leaves running. hugectl is a subreaper, so they are its descendants.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use hugetools_contract::report::{Proof, is_shell};
use hugetools_model::Root;
use hugetools_model::process::{self, Pid, Stat};

use crate::status::{Snapshot, render, select};
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

/// Returns a report for the eldest of each family with the library, and of each family without it.
pub(super) fn reports(root: &Root, all: &BTreeMap<Pid, Pid>, json: bool) -> Vec<String> {
    let with: BTreeSet<Pid> = all
        .keys()
        .copied()
        .filter(|pid| has_library(root, *pid))
        .collect();
    let mut eldest_of_both = eldest(all, |pid| with.contains(&pid));
    eldest_of_both.extend(eldest(all, |pid| !with.contains(&pid)));
    let reports = eldest_of_both.into_iter();
    reports.map(|pid| report(root, pid, json)).collect()
}

/// Returns the processes that fit `is_it` and whose parents don't.
fn eldest(all: &BTreeMap<Pid, Pid>, is_it: impl Fn(Pid) -> bool) -> Vec<Pid> {
    let found: Vec<Pid> = all.keys().copied().filter(|pid| is_it(*pid)).collect();
    let is_eldest = |pid: &Pid| all.get(pid).is_none_or(|parent| !found.contains(parent));
    found.iter().copied().filter(is_eldest).collect()
}

/// Whether one of our libraries is in a process. False if its mappings are unreadable.
fn has_library(root: &Root, pid: Pid) -> bool {
    let maps = root.read(&pid.path("maps")).unwrap_or_default();
    memchr::memmem::find(&maps, b"/libhugetlbfs").is_some()
}

fn report(root: &Root, pid: Pid, json: bool) -> String {
    match Snapshot::take(root, pid, None) {
        Ok(snapshot) if json => snapshot.to_text(true),
        Ok(snapshot) => format!(
            "still running, as it is now (later: hugectl --status {pid}):\n{}",
            snapshot.to_text(false)
        ),
        // It has ended meanwhile.
        Err(_) if living(root, pid, 0).is_none() => String::new(),
        Err(why) if !json => format!("hugectl: warning: process {pid} still runs: {why}\n"),
        Err(why) => render(
            &Proof {
                pid: pid.get(),
                name: &process::name(root, pid).unwrap_or_default(),
                warning: Some(&why.to_string()),
                ..Proof::UNKNOWN
            },
            true,
        ),
    }
}

//! `--status`: shows the huge pages of running processes.

use hugetools_ctl::request::{ProcessSelector, Status};
use hugetools_ctl::say::failure::Failure;
use hugetools_ctl::status::{self, Snapshot, Totals};
use hugetools_model::Root;
use hugetools_model::process::Pid;

use super::{LOG, each, print, root};
use crate::terminal::lay_out;

/// Prints the status of the requested processes.
pub(super) fn show(status: &Status) -> Result<(), Failure> {
    let root = root(status.sysroot.as_deref())?;
    let text = look(&root, status)?;
    match status.json {
        true => print(&text),
        false => print(&lay_out(&text)),
    }
}

/// Returns the current status as text or JSON.
///
/// # Errors
/// A process cannot be inspected.
fn look(root: &Root, status: &Status) -> Result<String, Failure> {
    let mut warnings = Vec::new();
    if status.totals {
        let all = take_all(root, status, &mut warnings, |pid| Totals::take(root, pid))?;
        say(&warnings, status);
        return Ok(status::totals(&all, &warnings, status.json));
    }
    let mut frames = status.sizes.then(|| status::frames(root));
    let mut take = |pid| Snapshot::take(root, pid, frames.as_mut());
    if let ([ProcessSelector::Pid(pid)], false) = (status.processes.as_slice(), status.tree) {
        let snapshot = take(*pid)?;
        warnings.extend(snapshot.warning().map(str::to_owned));
        say(&warnings, status);
        return Ok(snapshot.to_text(status.json));
    }
    let all = take_all(root, status, &mut warnings, take)?;
    for why in all.iter().filter_map(Snapshot::warning) {
        if !warnings.iter().any(|warning| warning == why) {
            warnings.push(why.to_owned());
        }
    }
    say(&warnings, status);
    Ok(status::overview(&all, &warnings, status.json))
}

/// Takes the status of each requested process.
fn take_all<T>(
    root: &Root,
    status: &Status,
    warnings: &mut Vec<String>,
    take: impl FnMut(Pid) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let selected = status::select(root, &status.processes, status.tree)?;
    let is_named = |pid| status.processes.contains(&ProcessSelector::Pid(pid));
    let all = match each(selected.pids, is_named, warnings, take) {
        Err(_) if status.processes == [ProcessSelector::All] => Vec::new(),
        all => all?,
    };
    warnings.extend(selected.unseen);
    if !selected.denied.is_empty() {
        let pids: Vec<String> = selected.denied.iter().map(Pid::to_string).collect();
        let pids = pids.join(", ");
        warnings.push(format!(
            "process {pids}: permission denied; run this as its owner, or with CAP_SYS_PTRACE"
        ));
    }
    Ok(all)
}

/// Logs warnings about unreadable processes; JSON has them in the document.
fn say(warnings: &[String], status: &Status) {
    if !status.json {
        for warning in warnings {
            LOG.warning(warning);
        }
    }
}

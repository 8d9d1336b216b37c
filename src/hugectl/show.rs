//! `--status`: what running processes have, once or again and again.

use std::time::Duration;

use hugetools_ctl::request::{Status, Whom};
use hugetools_ctl::say::failure::Failure;
use hugetools_ctl::status::{self, Snapshot, Totals};
use hugetools_model::Root;
use hugetools_model::process::Pid;

use super::{LOG, print, root, unwritable};
use crate::again::{End, again};
use crate::terminal::dress;

/// Prints what running processes have.
pub(super) fn show(status: &Status) -> Result<(), Failure> {
    let root = root(status.sysroot.as_deref())?;
    match status.watch {
        None if status.json => print(&look(&root, status)?),
        None => print(&dress(&look(&root, status)?)),
        Some(time) => watch(&root, status, time),
    }
}

/// The processes at one moment.
fn look(root: &Root, status: &Status) -> Result<String, Failure> {
    let mut warnings = Vec::new();
    if status.totals {
        let all = each(root, status, &mut warnings, |pid| Totals::take(root, pid))?;
        say(&warnings, status);
        return Ok(status::totals(&all, &warnings, status.json));
    }
    let mut frames = status.sizes.then(|| status::frames(root));
    let mut take = |pid| {
        let mut snapshot = Snapshot::take(root, pid)?;
        if let Some(frames) = &mut frames {
            snapshot.look_at_folios(root, frames.as_mut());
        }
        Ok(snapshot)
    };
    if let ([Whom::Pid(pid)], false) = (status.whom.as_slice(), status.tree) {
        let snapshot = take(*pid)?;
        warnings.extend(snapshot.warning().map(str::to_owned));
        say(&warnings, status);
        return Ok(snapshot.to_text(status.json));
    }
    let all = each(root, status, &mut warnings, take)?;
    for why in all.iter().filter_map(Snapshot::warning) {
        if !warnings.iter().any(|told| told == why) {
            warnings.push(why.to_owned());
        }
    }
    say(&warnings, status);
    Ok(status::several(&all, &warnings, status.json))
}

/// Looks at each of the processes that are meant.
fn each<T>(
    root: &Root,
    status: &Status,
    warnings: &mut Vec<String>,
    mut take: impl FnMut(Pid) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let chosen = status::choose(root, &status.whom, status.tree)?;
    let named = |pid: Pid| status.whom.contains(&Whom::Pid(pid));
    let mut all = Vec::new();
    for pid in chosen.pids {
        match take(pid) {
            Ok(one) => all.push(one),
            Err(why) if named(pid) => return Err(why),
            // It may have ended meanwhile.
            Err(why) => warnings.push(why.to_string()),
        }
    }
    warnings.extend(chosen.unseen);
    if !chosen.hidden.is_empty() {
        let pids: Vec<String> = chosen.hidden.iter().map(Pid::to_string).collect();
        let pids = pids.join(", ");
        warnings.push(format!(
            "process {pids}: may not be looked at; ask as its owner, or with CAP_SYS_PTRACE"
        ));
    }
    Ok(all)
}

/// What may not be read; JSON has it in the document.
fn say(warnings: &[String], status: &Status) {
    if !status.json {
        for warning in warnings {
            LOG.warning(warning);
        }
    }
}

/// Looks again and again, until there is nobody any more.
fn watch(root: &Root, status: &Status, time: Duration) -> Result<(), Failure> {
    match again(time, status.json, || look(root, status)) {
        End::Unread | End::Failed(_, true) => Ok(()),
        End::Failed(why, false) => Err(why),
        End::Unwritten(error) => Err(unwritable(error)),
    }
}

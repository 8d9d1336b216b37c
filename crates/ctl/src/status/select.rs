//! Selects processes by PID, by name, or all with huge pages.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;

use hugetools_contract::report::base;
use hugetools_model::machine::{self, MEMINFO};
use hugetools_model::process::{self, Pid, hidepid};
use hugetools_model::smaps::records;
use hugetools_model::{KPath, Root};

use crate::request::ProcessSelector;
use crate::say::failure::Failure;

/// The selected processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Each process once, sorted by PID.
    pub pids: Vec<Pid>,
    /// Processes that may have huge pages, but may not be inspected.
    pub denied: Vec<Pid>,
    /// Why processes of other users are invisible, if they are.
    pub unseen: Option<String>,
}

/// Selects processes; with `tree` their descendants, too.
///
/// # Errors
/// A name matches no process, or `/proc` is not mounted.
pub fn select(root: &Root, wanted: &[ProcessSelector], tree: bool) -> Result<Selection, Failure> {
    let mut selected = BTreeSet::new();
    let mut denied = Vec::new();
    let is_search = |one: &ProcessSelector| !matches!(one, ProcessSelector::Pid(_));
    let searches = wanted.iter().any(is_search);
    let unseen = (tree || searches).then(|| hidepid(root)).flatten();
    if searches && machine::missing_kernel_file(root) == Some(MEMINFO) {
        return Err(Failure::Own(
            "no process can be seen: /proc is not mounted here; mount -t proc proc /proc"
                .to_owned(),
        ));
    }
    for one in wanted {
        match one {
            ProcessSelector::Pid(pid) => _ = selected.insert(*pid),
            ProcessSelector::Name(name) => {
                let named = all(root).filter(|pid| has_name(root, *pid, name));
                let named: Vec<Pid> = named.collect();
                if named.is_empty() {
                    return Err(Failure::Own(match unseen {
                        Some(why) => format!("no process {name} can be seen: {why}"),
                        None => format!("there is no process {name}"),
                    }));
                }
                selected.extend(named);
            }
            ProcessSelector::All => {
                for pid in all(root) {
                    match has_huge_pages(root, pid) {
                        Some(true) => _ = selected.insert(pid),
                        Some(false) => {}
                        None => denied.push(pid),
                    }
                }
            }
        }
    }
    if tree {
        add_descendants(root, &mut selected);
    }
    Ok(Selection {
        pids: selected.into_iter().collect(),
        denied,
        unseen,
    })
}

/// Returns why processes of other users are invisible, if `/proc` hides them.
pub(super) fn hidepid(root: &Root) -> Option<String> {
    let option = hidepid::hidden_by(root)?;
    Some(format!(
        "processes of others are hidden here (/proc is mounted with {option}); run as root, or with \
         CAP_SYS_PTRACE"
    ))
}

/// Returns all processes but this one.
pub(crate) fn all(root: &Root) -> impl Iterator<Item = Pid> {
    let names = root.list(&KPath::from("/proc")).unwrap_or_default();
    let mut pids: Vec<Pid> = names
        .iter()
        .filter_map(|name| Pid::new(name.to_str()?.parse().ok()?))
        .filter(|pid| !root.is_live() || pid.get() != std::process::id())
        .collect();
    pids.sort_unstable();
    pids.into_iter()
}

/// Whether a process or its executable has this name. The kernel truncates a process's name
/// to 15 bytes.
fn has_name(root: &Root, pid: Pid, name: &str) -> bool {
    const COMM_MAX: usize = 15;
    let name = name.as_bytes();
    let own = process::name(root, pid).unwrap_or_default();
    if own == name || own.len() == COMM_MAX && name.starts_with(&own) {
        return true;
    }
    process::exe(root, pid).is_ok_and(|exe| base(exe.as_os_str().as_bytes()) == name)
}

/// Whether a process has huge pages; `None` if it may not be inspected.
fn has_huge_pages(root: &Root, pid: Pid) -> Option<bool> {
    match root.read(&pid.path("smaps_rollup")) {
        Ok(text) => Some(records(&text).any(|record| record.thp() + record.hugetlb > 0)),
        Err(error) if matches!(error.errno(), Some(libc::EACCES | libc::EPERM)) => None,
        // A kernel thread, or a process that has ended.
        Err(_) => Some(false),
    }
}

/// Adds the descendants of the selected processes.
fn add_descendants(root: &Root, selected: &mut BTreeSet<Pid>) {
    let mut children: BTreeMap<u32, Vec<Pid>> = BTreeMap::new();
    for pid in all(root) {
        if let Some(parent) = process::parent(root, pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut next: Vec<Pid> = selected.iter().copied().collect();
    while let Some(pid) = next.pop() {
        let found = children.remove(&pid.get()).unwrap_or_default();
        selected.extend(&found);
        next.extend(found);
    }
}

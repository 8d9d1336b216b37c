//! Which processes are meant.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;

use hugetools_contract::report::base;
use hugetools_model::machine::{self, MEMINFO};
use hugetools_model::process::{self, Pid, others};
use hugetools_model::smaps::records;
use hugetools_model::{KPath, Root};

use crate::request::Whom;
use crate::say::failure::Failure;

/// The processes that are meant, each once, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Their numbers.
    pub pids: Vec<Pid>,
    /// Processes that may not be looked at, of which it cannot be told whether they
    /// have huge pages.
    pub hidden: Vec<Pid>,
    /// What keeps processes of others from being seen at all.
    pub unseen: Option<String>,
}

/// Finds them.
///
/// # Errors
/// When nobody goes by a name, or nobody can be seen.
pub fn choose(root: &Root, whom: &[Whom], tree: bool) -> Result<Chosen, Failure> {
    let mut chosen = BTreeSet::new();
    let mut hidden = Vec::new();
    let by_number = |one: &Whom| matches!(one, Whom::Pid(_));
    let is_whole = tree || !whom.iter().all(by_number);
    let unseen = is_whole.then(|| of_others(root)).flatten();
    let is_unseen = machine::unseen(root) == Some(MEMINFO);
    for one in whom {
        match one {
            Whom::Pid(pid) => {
                chosen.insert(pid.get());
            }
            Whom::Name(_) | Whom::All if is_unseen => {
                return Err(Failure::Own(
                    "no process can be seen: /proc is not mounted here; mount -t proc proc /proc"
                        .to_owned(),
                ));
            }
            Whom::Name(name) => {
                let those: Vec<u32> = all(root)
                    .filter(|pid| goes_by(root, *pid, name))
                    .map(Pid::get)
                    .collect();
                if those.is_empty() {
                    return Err(Failure::Own(none_of(name, unseen.as_deref())));
                }
                chosen.extend(those);
            }
            Whom::All => {
                for pid in all(root) {
                    match has_huge_pages(root, pid) {
                        Some(true) => _ = chosen.insert(pid.get()),
                        Some(false) => {}
                        None => hidden.push(pid),
                    }
                }
            }
        }
    }
    if tree {
        add_children(root, &mut chosen);
    }
    let pids = chosen.into_iter().filter_map(Pid::new).collect();
    Ok(Chosen {
        pids,
        hidden,
        unseen,
    })
}

/// Why processes of others are not seen, and who sees them.
pub(super) fn of_others(root: &Root) -> Option<String> {
    let option = others::hidden_by(root)?;
    Some(format!(
        "processes of others are hidden here (/proc is mounted with {option}); ask as root, or with \
         CAP_SYS_PTRACE"
    ))
}

fn none_of(name: &str, unseen: Option<&str>) -> String {
    match unseen {
        Some(why) => format!("no process {name} can be seen: {why}"),
        None => format!("there is no process {name}"),
    }
}

/// All processes but this one.
fn all(root: &Root) -> impl Iterator<Item = Pid> {
    let names = root.list(&KPath::from("/proc")).unwrap_or_default();
    let mut numbers: Vec<u32> = names
        .iter()
        .filter_map(|name| name.to_str()?.parse().ok())
        .filter(|number| !root.is_live() || *number != std::process::id())
        .collect();
    numbers.sort_unstable();
    numbers.into_iter().filter_map(Pid::new)
}

/// The kernel cuts the names of processes off after 15 bytes.
fn goes_by(root: &Root, pid: Pid, name: &str) -> bool {
    const MOST: usize = 15;
    let name = name.as_bytes();
    let own = process::name(root, pid).unwrap_or_default();
    if own == name || own.len() == MOST && name.starts_with(&own) {
        return true;
    }
    process::exe(root, pid).is_ok_and(|exe| base(exe.as_os_str().as_bytes()) == name)
}

/// Whether a process has any; `None` where it may not be looked at.
fn has_huge_pages(root: &Root, pid: Pid) -> Option<bool> {
    let text = match root.read_opt(&pid.path("smaps_rollup")) {
        Ok(Some(text)) => text,
        // A part of the kernel, one that has ended, or an old kernel.
        Ok(None) => root.read_opt(&pid.path("smaps")).ok()?.unwrap_or_default(),
        Err(error) if error.errno() == Some(libc::EACCES) || error.errno() == Some(libc::EPERM) => {
            return None;
        }
        Err(_) => Vec::new(),
    };
    Some(records(&text).any(|record| record.thp() + record.hugetlb > 0))
}

/// Adds what these have started, and what that has.
fn add_children(root: &Root, chosen: &mut BTreeSet<u32>) {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all(root) {
        if let Some(parent) = process::parent(root, pid) {
            children.entry(parent).or_default().push(pid.get());
        }
    }
    let mut next: Vec<u32> = chosen.iter().copied().collect();
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            chosen.insert(child);
            next.push(child);
        }
    }
}

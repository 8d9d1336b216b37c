//! The right to System V segments of pool pages (`SHM_HUGETLB`).

use hugetools_model::memory::sysctl;
use hugetools_model::{FileError, KPath, Root, keyed};
use nix::unistd::{Gid, Group};

use crate::caller::Caller;
use crate::caller::filter::STATUS;

/// Why the caller lacks the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShmGroup {
    /// The caller's group, which could get the right.
    pub(crate) group: String,
    /// The group in `vm.hugetlb_shm_group`.
    pub(crate) now: u64,
}

/// Returns the obstacle; `None` for members of the group, with `CAP_IPC_LOCK`, or if unknown.
pub(super) fn read(root: &Root, caller: &Caller) -> Result<Option<ShmGroup>, FileError> {
    let status = root.read_opt(&KPath::from(STATUS))?;
    let now = root.number_opt(&sysctl::shm_group_path())?;
    let (Some(status), Some(now)) = (status, now) else {
        return Ok(None);
    };
    // Capabilities of another user namespace don't count.
    let is_capable = has_capability(&status) && !is_in_namespace(root)?;
    // 0 means that no group is set, but the kernel gives group 0 the right all the same.
    let is_member = now == u64::from(caller.egid) || is_in_group(&status, now);
    Ok((!is_capable && !is_member).then(|| ShmGroup {
        group: group_name(caller.egid),
        now,
    }))
}

/// Whether this process is in another user namespace than the initial one.
fn is_in_namespace(root: &Root) -> Result<bool, FileError> {
    let map = root.read_opt(&KPath::from("/proc/self/uid_map"))?;
    let map = String::from_utf8_lossy(map.as_deref().unwrap_or_default()).into_owned();
    let words: Vec<&str> = map.split_whitespace().collect();
    Ok(!words.is_empty() && words != ["0", "0", "4294967295"])
}

/// Returns a group's name, or the number.
pub(crate) fn group_name(gid: u32) -> String {
    let group = Group::from_gid(Gid::from_raw(gid));
    let name = group.ok().flatten().map(|group| group.name);
    name.unwrap_or_else(|| gid.to_string())
}

/// Whether a process with this `/proc/PID/status` has `CAP_IPC_LOCK`.
fn has_capability(status: &[u8]) -> bool {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let set = words(status, b"CapEff:").next();
    let set = set.and_then(|set| u64::from_str_radix(set, 16).ok());
    set.is_some_and(|set| set & CAP_IPC_LOCK != 0)
}

/// Whether such a process has a group, effective or supplementary.
fn is_in_group(status: &[u8], gid: u64) -> bool {
    let effective = words(status, b"Gid:").nth(1);
    let mut groups = words(status, b"Groups:").chain(effective);
    groups.any(|word| word.parse() == Ok(gid))
}

fn words<'a>(status: &'a [u8], name: &[u8]) -> impl Iterator<Item = &'a str> + use<'a> {
    let line = keyed::value(status, name).and_then(|line| std::str::from_utf8(line).ok());
    line.unwrap_or_default().split_ascii_whitespace()
}

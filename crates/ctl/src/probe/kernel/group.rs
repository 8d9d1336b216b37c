//! The right to System V segments of pool pages (`SHM_HUGETLB`).

use hugetools_model::memory::sysctl;
use hugetools_model::{FileError, KPath, Root, keyed};

use crate::caller::Caller;
use crate::caller::filter::STATUS;

/// Why the caller lacks the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShmGroup {
    /// The caller's group, which could get the right.
    pub(crate) group: u32,
    /// The group in `vm.hugetlb_shm_group`.
    pub(crate) now: u64,
}

/// Returns the obstacle; `None` for members of the group, with `CAP_IPC_LOCK`, or if unknown.
/// In a user namespace, whose capabilities don't count, the right is overestimated.
pub(super) fn read(root: &Root, caller: &Caller) -> Result<Option<ShmGroup>, FileError> {
    let status = root.read_opt(&KPath::from(STATUS))?;
    let now = root.number_opt(&sysctl::shm_group_path())?;
    let (Some(status), Some(now)) = (status, now) else {
        return Ok(None);
    };
    // 0 means that no group is set, but the kernel gives group 0 the right all the same.
    let is_member = now == u64::from(caller.egid) || is_supplementary(&status, now);
    let group = caller.egid;
    Ok((!has_capability(&status) && !is_member).then_some(ShmGroup { group, now }))
}

/// Whether a process with this `/proc/PID/status` has `CAP_IPC_LOCK`.
fn has_capability(status: &[u8]) -> bool {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let set = words(status, b"CapEff:").next();
    let set = set.and_then(|set| u64::from_str_radix(set, 16).ok());
    set.is_some_and(|set| set & CAP_IPC_LOCK != 0)
}

/// Whether such a process has a supplementary group.
fn is_supplementary(status: &[u8], gid: u64) -> bool {
    words(status, b"Groups:").any(|word| word.parse() == Ok(gid))
}

fn words<'a>(status: &'a [u8], name: &[u8]) -> impl Iterator<Item = &'a str> + use<'a> {
    let line = keyed::value(status, name).and_then(|line| std::str::from_utf8(line).ok());
    line.unwrap_or_default().split_ascii_whitespace()
}

//! Who may have System V segments of pool pages.

use hugetools_model::memory::sysctl;
use hugetools_model::{FileError, KPath, Root, keyed};

use crate::caller::Caller;
use crate::probe::kernel::namespace::user_namespace;

/// Whether the caller may have `SHM_HUGETLB`: by `CAP_IPC_LOCK` or by group.
pub(super) fn may_lock(root: &Root, caller: &Caller) -> Result<bool, FileError> {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let status = root.read(&KPath::from("/proc/self/status"))?;
    let line = |name: &[u8]| std::str::from_utf8(keyed::value(&status, name)?).ok();
    let capabilities = line(b"CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok());
    // That of another user namespace does not count.
    let is_own = user_namespace(root)?.is_none();
    if is_own && capabilities.is_some_and(|set| set & CAP_IPC_LOCK != 0) {
        return Ok(true);
    }
    let group = root.number_opt(&sysctl::shm_group_path())?;
    let in_group = |gid: u64| {
        let mut others = line(b"Groups:")
            .unwrap_or_default()
            .split_ascii_whitespace();
        gid == u64::from(caller.egid) || others.any(|other| other.parse() == Ok(gid))
    };
    // Group 0 is what the sysctl says when no group is set; it counts all the
    // same.
    Ok(group.is_some_and(in_group))
}

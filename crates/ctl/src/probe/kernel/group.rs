//! Who may have System V segments of pool pages.

use hugetools_model::memory::sysctl;
use hugetools_model::{FileError, KPath, Root, keyed};

/// Where a process has its rights and its groups.
pub const STATUS: &str = "/proc/self/status";

/// Whether the caller may have System V segments of pool pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MayLock {
    /// By a capability or by group; or nobody asked.
    #[default]
    Yes,
    /// Not before this group is set.
    Group {
        /// One of the caller's.
        group: String,
        /// What the sysctl says now; `None` where it cannot be read.
        now: Option<u64>,
    },
    /// It cannot be told: nothing says what rights the caller has.
    Unknown,
}

use crate::caller::Caller;
use crate::files::accounts;
use crate::probe::kernel::namespace::user_namespace;

/// Whether the caller may have `SHM_HUGETLB`: by `CAP_IPC_LOCK` or by group.
pub(super) fn may_lock(root: &Root, caller: &Caller) -> Result<MayLock, FileError> {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let Some(status) = root.read_opt(&KPath::from(STATUS))? else {
        return Ok(MayLock::Unknown);
    };
    let line = |name: &[u8]| std::str::from_utf8(keyed::value(&status, name)?).ok();
    let capabilities = line(b"CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok());
    // That of another user namespace does not count.
    let is_own = user_namespace(root)?.is_none();
    if is_own && capabilities.is_some_and(|set| set & CAP_IPC_LOCK != 0) {
        return Ok(MayLock::Yes);
    }
    let now = root.number_opt(&sysctl::shm_group_path())?;
    let in_group = |gid: u64| {
        let mut others = line(b"Groups:")
            .unwrap_or_default()
            .split_ascii_whitespace();
        gid == u64::from(caller.egid) || others.any(|other| other.parse() == Ok(gid))
    };
    // Group 0 is what the sysctl says when no group is set; it counts all the
    // same.
    Ok(match now.is_some_and(in_group) {
        true => MayLock::Yes,
        false => MayLock::Group {
            group: accounts::group(caller.egid),
            now,
        },
    })
}

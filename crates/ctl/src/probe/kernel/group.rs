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
    let Some(status) = root.read_opt(&KPath::from(STATUS))? else {
        return Ok(MayLock::Unknown);
    };
    // That of another user namespace does not count.
    let is_own = user_namespace(root)?.is_none();
    if is_own && has_capability(&status) {
        return Ok(MayLock::Yes);
    }
    let now = root.number_opt(&sysctl::shm_group_path())?;
    let is_in = |gid| gid == u64::from(caller.egid) || has_group(&status, gid);
    // Group 0 is what the sysctl says when no group is set; it counts all the
    // same.
    Ok(match now.is_some_and(is_in) {
        true => MayLock::Yes,
        false => MayLock::Group {
            group: accounts::group(caller.egid),
            now,
        },
    })
}

/// Whether a process whose `/proc/PID/status` this is has `CAP_IPC_LOCK`.
fn has_capability(status: &[u8]) -> bool {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let set = words(status, b"CapEff:").next();
    let set = set.and_then(|set| u64::from_str_radix(set, 16).ok());
    set.is_some_and(|set| set & CAP_IPC_LOCK != 0)
}

/// Whether it has a group besides its effective one.
fn has_group(status: &[u8], gid: u64) -> bool {
    words(status, b"Groups:").any(|word| word.parse() == Ok(gid))
}

/// The words of a line.
fn words<'a>(status: &'a [u8], name: &[u8]) -> impl Iterator<Item = &'a str> + use<'a> {
    let line = keyed::value(status, name).and_then(|line| std::str::from_utf8(line).ok());
    line.unwrap_or_default().split_ascii_whitespace()
}

//! Identities of pages.

use std::collections::BTreeSet;

/// Identifies a page: by its frame if the kernel shows it, else by a substitute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Page {
    /// The first frame of the page.
    Frame(u64),
    /// A page of one process: pid and address.
    Own(u32, u64),
    /// A page that processes share since a fork: inode and address of the mapping.
    Inherited(u64, u64),
}

pub(super) type Frames = BTreeSet<Page>;

/// Bytes of a base page, the unit of `/proc/PID/pagemap`.
pub(super) fn page_size() -> u64 {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    let size = size.ok().flatten();
    size.and_then(|size| u64::try_from(size).ok())
        .unwrap_or(4096)
}

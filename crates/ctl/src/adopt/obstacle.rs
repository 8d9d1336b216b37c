//! Properties of a mapping that keep it from being collapsed.

use std::borrow::Cow;

use hugetools_contract::segment::Segment;
use hugetools_model::smaps::Record;

use super::reason::Reason;

/// Properties of the whole process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Process {
    /// It has called prctl(PR_SET_THP_DISABLE).
    pub(super) thp_disabled: bool,
    /// The value of `shmem_enabled`, if it bars shared memory.
    pub(super) shmem: Option<String>,
}

/// Why a mapping cannot be collapsed.
pub(super) fn find(record: &Record<'_>, segment: Segment, process: &Process) -> Option<Reason> {
    let has = |flags: &[&[u8; 2]]| flags.iter().any(|flag| record.has_flag(flag));
    let is_private_file = record.inode != 0 && record.name.starts_with(b"/") && !record.shared;
    let why = if process.thp_disabled {
        "the process has switched transparent huge pages off (PR_SET_THP_DISABLE)"
    } else if has(&[b"io", b"pf", b"mm"]) {
        "memory of a device"
    } else if has(&[b"nh"]) {
        "the program declined huge pages (MADV_NOHUGEPAGE), as glibc may for thread stacks"
    } else if has(&[b"um", b"uw", b"ui"]) {
        "userfaultfd watches it"
    } else if has(&[b"mg"]) {
        "merged with equal pages (KSM)"
    } else if segment == Segment::Shm {
        let word = process.shmem.as_ref()?;
        return Some(Reason::Obstacle(Cow::Owned(format!(
            "transparent huge pages for shared memory are set to {word} (shmem_enabled)"
        ))));
    } else if is_private_file && record.writable {
        "private copies of a file's pages: start the program with hugectl --data"
    } else if is_private_file && record.shared_pages > 0 {
        "pages of a file that other processes map, too"
    } else {
        return None;
    };
    Some(Reason::Obstacle(Cow::Borrowed(why)))
}

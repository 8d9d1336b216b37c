//! Properties of a mapping that keep it from being collapsed.

use hugetools_contract::segment::Segment;
use hugetools_model::smaps::Record;

/// Returns why a mapping is not collapsed. `is_disabled`: `PR_SET_THP_DISABLE` is set.
/// `is_denied`: `shmem_enabled` is `deny`; `MADV_COLLAPSE` ignores the other values.
pub(super) fn find(
    record: &Record<'_>,
    segment: Segment,
    is_disabled: bool,
    is_denied: bool,
) -> Option<&'static str> {
    let has = |flags: &[&[u8; 2]]| flags.iter().any(|flag| record.has_flag(flag));
    let is_private_file = record.inode != 0 && record.name.starts_with(b"/") && !record.shared;
    Some(if is_disabled {
        "the process has switched transparent huge pages off (PR_SET_THP_DISABLE)"
    } else if has(&[b"io", b"pf", b"mm"]) {
        "memory of a device"
    } else if has(&[b"nh"]) {
        "the program declined huge pages (MADV_NOHUGEPAGE), as glibc may for thread stacks"
    } else if has(&[b"um", b"uw", b"ui"]) {
        "userfaultfd watches it"
    } else if has(&[b"mg"]) {
        "merged with equal pages (KSM)"
    } else if segment == Segment::Shm && is_denied {
        "transparent huge pages for shared memory are set to deny (shmem_enabled)"
    } else if is_private_file && record.writable {
        "private copies of a file's pages: start the program with hugectl --data"
    } else if is_private_file && record.shared_pages > 0 {
        "pages of a file that other processes map, too"
    } else {
        return None;
    })
}

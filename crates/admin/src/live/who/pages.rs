//! The present huge pages of a mapping, from `/proc/PID/pagemap`.

use std::fs;
use std::os::unix::fs::FileExt;

use hugetools_model::PageSize;
use hugetools_model::process::{Entry, Pid};
use hugetools_model::smaps::Record;

/// Identifies a page: by its frame if the kernel shows it, else by a substitute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PageId {
    /// The frame number of its first base page.
    Frame(u64),
    /// A page that is mapped once: pid and address.
    Exclusive(u32, u64),
    /// A page that processes share since a fork: its mapping's inode, and its address.
    Inherited(u64, u64),
}

/// A present huge page of a mapping.
pub(super) struct PresentPage {
    pub(super) id: PageId,
    pub(super) file_backed: bool,
}

/// Returns the present huge pages of a mapping; none if pagemap is unreadable.
pub(super) fn present_pages(
    pid: Pid,
    size: PageSize,
    record: &Record<'_>,
    pagemap: Option<&fs::File>,
) -> Vec<PresentPage> {
    let Some(pagemap) = pagemap else {
        return Vec::new();
    };
    let base = base_page_size();
    let mut present = Vec::new();
    for index in 0..record.mapped() / size.get() {
        let address = record.start + index * size.get();
        let mut word = [0; Entry::LEN];
        if pagemap
            .read_exact_at(&mut word, address / base * Entry::LEN as u64)
            .is_err()
        {
            continue;
        }
        let entry = Entry::new(u64::from_ne_bytes(word));
        if !entry.is_present() {
            continue;
        }
        let id = match entry.frame() {
            Some(frame) => PageId::Frame(frame),
            None if entry.is_exclusive() => PageId::Exclusive(pid.get(), address),
            None => PageId::Inherited(record.inode, address),
        };
        let file_backed = entry.is_of_file();
        present.push(PresentPage { id, file_backed });
    }
    present
}

/// Returns the size of a base page in bytes. pagemap has one entry per base page.
fn base_page_size() -> u64 {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    let size = size.ok().flatten();
    size.and_then(|size| u64::try_from(size).ok())
        .unwrap_or(4096)
}

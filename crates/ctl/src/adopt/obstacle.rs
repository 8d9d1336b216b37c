//! What keeps a whole mapping from huge pages, as far as the kernel's account of it
//! tells.

use hugetools_contract::segment::Segment;
use hugetools_model::smaps::Record;

use super::reason::Reason;

/// What holds for all memory of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// It has switched huge pages off.
    pub(super) switched_off: bool,
    /// The word of `shmem_enabled`, where that keeps shared memory from them.
    pub(super) shared: Option<String>,
}

/// What keeps a mapping from huge pages.
pub(super) fn find(record: &Record<'_>, segment: Segment, facts: &Facts) -> Option<Reason> {
    let has = |flags: &[&[u8; 2]]| flags.iter().any(|flag| record.has_flag(flag));
    let is_file = record.inode != 0 && record.name.starts_with(b"/");
    if facts.switched_off {
        return Some(Reason::SwitchedOff);
    }
    if has(&[b"io", b"pf", b"mm"]) {
        return Some(Reason::Device);
    }
    if has(&[b"nh"]) {
        return Some(Reason::Declined);
    }
    if has(&[b"um", b"uw", b"ui"]) {
        return Some(Reason::Watched);
    }
    if has(&[b"mg"]) {
        return Some(Reason::Merged);
    }
    if segment == Segment::Shm {
        return facts.shared.clone().map(Reason::Shared);
    }
    match is_file && !record.shared {
        true if record.writable => Some(Reason::FileCopy),
        true if record.shared_pages > 0 => Some(Reason::OthersMap),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Record<'static> = Record {
        start: 0,
        end: 4 << 20,
        accessible: true,
        readable: true,
        writable: true,
        executable: false,
        shared: false,
        offset: 0,
        device: (0, 0),
        inode: 0,
        name: b"",
        rss: 4 << 20,
        referenced: 4 << 20,
        shared_pages: 0,
        anon_huge: 0,
        shmem_huge: 0,
        file_huge: 0,
        hugetlb: 0,
        kernel_page_size: 4096,
        flags: b"rd wr mr mw me ac sd",
    };

    fn flagged(flags: &'static [u8]) -> Option<Reason> {
        let record = Record { flags, ..PLAIN };
        find(&record, Segment::Anon, &Facts::default())
    }

    #[test]
    fn flags_of_the_kernel() {
        assert_eq!(flagged(PLAIN.flags), None);
        assert_eq!(flagged(b"rd wr nh"), Some(Reason::Declined));
        assert_eq!(flagged(b"rd wr io pf"), Some(Reason::Device));
        assert_eq!(flagged(b"rd wr um"), Some(Reason::Watched));
        assert_eq!(flagged(b"rd wr mg"), Some(Reason::Merged));
        // Locked in memory, not by the kernel for itself.
        assert_eq!(flagged(b"rd wr lo"), None);
    }

    #[test]
    fn files_and_shared_memory() {
        let file = Record {
            inode: 5,
            name: b"/bin/x",
            ..PLAIN
        };
        let facts = Facts::default();
        let data = find(&file, Segment::Data, &facts);
        assert_eq!(data, Some(Reason::FileCopy));
        let text = Record {
            writable: false,
            shared_pages: 4096,
            ..file
        };
        let found = find(&text, Segment::Text, &facts);
        assert_eq!(found, Some(Reason::OthersMap));
        let shared = Record {
            shared: true,
            ..file
        };
        assert_eq!(find(&shared, Segment::Shm, &facts), None);
        let facts = Facts {
            shared: Some("never".to_owned()),
            ..facts
        };
        let found = find(&shared, Segment::Shm, &facts);
        assert_eq!(found, Some(Reason::Shared("never".to_owned())));
        let off = Facts {
            switched_off: true,
            ..facts
        };
        assert_eq!(find(&PLAIN, Segment::Heap, &off), Some(Reason::SwitchedOff));
    }
}

//! The counters, by the kernel's names. hugeadm(8) has the same table, with the first
//! kernel that has each.

use hugetools_model::memory::vmstat;
use hugetools_model::{PageSize, thp};

use super::Seen;

/// Counters that belong together.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    /// Names, and what they mean.
    pub(super) counters: &'static [(&'static str, &'static str)],
}

/// Those of all sizes together.
pub(super) const GROUPS: [Group; 3] = [
    Group {
        title: "Transparent huge pages",
        counters: &[
            ("thp_fault_alloc", "faults that got one"),
            ("thp_fault_fallback", "faults that did not"),
            ("thp_fault_fallback_charge", "of these, for a limit"),
            ("thp_file_alloc", "shared memory that got one"),
            ("thp_file_fallback", "shared memory that did not"),
            ("thp_file_fallback_charge", "of these, for a limit"),
            ("thp_file_mapped", "of files, mapped whole"),
            ("thp_split_page", "taken apart"),
            ("thp_split_page_failed", "could not be taken apart"),
            ("thp_deferred_split_page", "partly unmapped"),
            ("thp_underused_split_page", "taken apart as mostly zero"),
            ("thp_split_pmd", "no longer mapped whole"),
            ("thp_migration_success", "moved whole"),
            ("thp_migration_fail", "could not be moved whole"),
            ("thp_migration_split", "taken apart to be moved"),
            ("thp_swpout", "swapped out whole"),
            ("thp_swpout_fallback", "taken apart to swap out"),
        ],
    },
    Group {
        title: "khugepaged",
        counters: &[
            ("thp_collapse_alloc", "huge pages that it got"),
            ("thp_collapse_alloc_failed", "that it did not get"),
            ("pages_collapsed", "put together"),
            ("full_scans", "times through all memory"),
        ],
    },
    Group {
        title: "Pools and compaction",
        counters: &[
            ("htlb_buddy_alloc_success", "pages made for pools"),
            ("htlb_buddy_alloc_fail", "pages not made"),
            ("compact_stall", "requests that had to wait"),
            ("compact_success", "of these, for a block"),
            ("compact_fail", "of these, in vain"),
            ("compact_daemon_wake", "kcompactd woken"),
        ],
    },
];

/// Those that each size has.
pub(super) const OF_SIZES: [(&str, &str); 17] = [
    ("anon_fault_alloc", "faults that got one"),
    ("anon_fault_fallback", "faults that did not"),
    ("anon_fault_fallback_charge", "of these, for a limit"),
    ("shmem_alloc", "shared memory that got one"),
    ("shmem_fallback", "shared memory that did not"),
    ("shmem_fallback_charge", "of these, for a limit"),
    ("split", "taken apart"),
    ("split_failed", "could not be taken apart"),
    ("split_deferred", "partly unmapped"),
    ("swpin", "swapped in whole"),
    ("swpin_fallback", "swapped in as less"),
    ("swpin_fallback_charge", "of these, for a limit"),
    ("swpout", "swapped out whole"),
    ("swpout_fallback", "taken apart to swap out"),
    ("zswpout", "packed whole by zswap"),
    ("nr_anon", "there now"),
    ("nr_anon_partially_mapped", "of these, mapped in part"),
];

/// Those that are files of khugepaged; the others of all sizes are in `/proc/vmstat`.
const KHUGEPAGED: [&str; 2] = ["pages_collapsed", "full_scans"];

/// A counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) name: &'static str,
    pub(super) size: Option<PageSize>,
}

impl Counter {
    /// Its value.
    pub(super) fn of(&self, seen: &Seen) -> Option<u64> {
        let counters = match self.size {
            Some(size) => seen.of_sizes.get(&size)?,
            None if KHUGEPAGED.contains(&self.name) => &seen.khugepaged,
            None => seen.vmstat.as_ref()?,
        };
        counters.get(self.name).copied()
    }

    pub(super) fn file(&self) -> String {
        let name = self.name;
        let file = match self.size {
            Some(size) => thp::size_dir(size).join(format_args!("stats/{name}")),
            None if KHUGEPAGED.contains(&name) => {
                thp::dir().join(format_args!("khugepaged/{name}"))
            }
            None => vmstat::path(),
        };
        file.to_string()
    }
}

/// All counters, those of all sizes together first.
pub(super) fn all(sizes: &[PageSize]) -> impl Iterator<Item = Counter> + '_ {
    let of_all = GROUPS.iter().flat_map(|group| group.counters);
    let of_all = of_all.map(|(name, _)| Counter { name, size: None });
    let of_sizes = sizes.iter().flat_map(|size| {
        let size = Some(*size);
        OF_SIZES.iter().map(move |(name, _)| Counter { name, size })
    });
    of_all.chain(of_sizes)
}

/// The kernel's names of all figures.
pub fn names() -> Vec<&'static str> {
    let of_all = GROUPS.iter().flat_map(|group| group.counters);
    of_all.chain(&OF_SIZES).map(|(name, _)| *name).collect()
}

//! The table of counters by the kernel's names.

use hugetools_model::memory::vmstat;
use hugetools_model::{PageSize, thp};

use super::Snapshot;

#[derive(Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    /// Names and meanings.
    pub(super) counters: &'static [(&'static str, &'static str)],
}

/// Counters over all sizes.
pub(super) const GROUPS: [Group; 3] = [
    Group {
        title: "Transparent huge pages",
        counters: &[
            ("thp_fault_alloc", "faults served with one"),
            ("thp_fault_fallback", "faults without one"),
            ("thp_fault_fallback_charge", "of these, due to a limit"),
            ("thp_file_alloc", "shared memory with one"),
            ("thp_file_fallback", "shared memory without one"),
            ("thp_file_fallback_charge", "of these, due to a limit"),
            ("thp_file_mapped", "of files, PMD-mapped"),
            ("thp_split_page", "split"),
            ("thp_split_page_failed", "could not be split"),
            ("thp_deferred_split_page", "partly unmapped"),
            ("thp_underused_split_page", "split, mostly zero"),
            ("thp_split_pmd", "PMD mappings split"),
            ("thp_migration_success", "migrated whole"),
            ("thp_migration_fail", "failed to migrate whole"),
            ("thp_migration_split", "split for migration"),
            ("thp_swpout", "swapped out whole"),
            ("thp_swpout_fallback", "split for swap-out"),
        ],
    },
    Group {
        title: "khugepaged",
        counters: &[
            ("thp_collapse_alloc", "huge pages allocated"),
            ("thp_collapse_alloc_failed", "failed allocations"),
            ("pages_collapsed", "huge pages collapsed"),
            ("full_scans", "scans of all memory"),
        ],
    },
    Group {
        title: "Pools and compaction",
        counters: &[
            ("htlb_buddy_alloc_success", "pages allocated for pools"),
            ("htlb_buddy_alloc_fail", "failed allocations"),
            ("compact_stall", "allocations that compacted"),
            ("compact_success", "of these, successful"),
            ("compact_fail", "of these, failed"),
            ("compact_daemon_wake", "wakeups of kcompactd"),
        ],
    },
];

/// Counters per size.
pub(super) const SIZE_COUNTERS: [(&str, &str); 17] = [
    ("anon_fault_alloc", "faults served with one"),
    ("anon_fault_fallback", "faults without one"),
    ("anon_fault_fallback_charge", "of these, due to a limit"),
    ("shmem_alloc", "shared memory with one"),
    ("shmem_fallback", "shared memory without one"),
    ("shmem_fallback_charge", "of these, due to a limit"),
    ("split", "split"),
    ("split_failed", "could not be split"),
    ("split_deferred", "partly unmapped"),
    ("swpin", "swapped in whole"),
    ("swpin_fallback", "swapped in as smaller"),
    ("swpin_fallback_charge", "of these, due to a limit"),
    ("swpout", "swapped out whole"),
    ("swpout_fallback", "split for swap-out"),
    ("zswpout", "stored whole in zswap"),
    ("nr_anon", "present now"),
    ("nr_anon_partially_mapped", "of these, partially mapped"),
];

/// Counters in khugepaged's own files. All others of [`GROUPS`] are in `/proc/vmstat`.
const KHUGEPAGED: [&str; 2] = ["pages_collapsed", "full_scans"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) name: &'static str,
    pub(super) size: Option<PageSize>,
}

impl Counter {
    pub(super) fn of(&self, seen: &Snapshot) -> Option<u64> {
        let counters = match self.size {
            Some(size) => seen.thp_counters.get(&size)?,
            None if KHUGEPAGED.contains(&self.name) => &seen.khugepaged,
            None => seen.vmstat.as_ref()?,
        };
        counters.get(self.name).copied()
    }

    pub(super) fn metric(&self) -> String {
        let name = self.name;
        match (self.size, name.strip_prefix("nr_")) {
            (Some(_), Some(present)) => format!("hugetools_thp_size_{present}_pages"),
            (Some(_), None) => format!("hugetools_thp_size_{name}_total"),
            (None, _) if KHUGEPAGED.contains(&name) => format!("hugetools_khugepaged_{name}_total"),
            (None, _) => format!("hugetools_{name}_total"),
        }
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

/// Returns all counters, beginning with the counters over all sizes.
pub(super) fn all(sizes: &[PageSize]) -> impl Iterator<Item = Counter> + '_ {
    let of_all = GROUPS.iter().flat_map(|group| group.counters);
    let of_all = of_all.map(|(name, _)| Counter { name, size: None });
    let of_sizes = sizes.iter().flat_map(|size| {
        let size = Some(*size);
        SIZE_COUNTERS
            .iter()
            .map(move |(name, _)| Counter { name, size })
    });
    of_all.chain(of_sizes)
}

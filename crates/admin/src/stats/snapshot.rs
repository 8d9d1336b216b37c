//! Reads the kernel files behind `hugeadm --stats` once.

use std::collections::BTreeMap;

use hugetools_model::hugetlb::pool;
use hugetools_model::memory::buddy::{self, Blocks};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::vmstat::{self, Counters};
use hugetools_model::memory::zone::{self, Zone};
use hugetools_model::thp::{self, Thp};
use hugetools_model::{Bytes, FileError, PageSize, Root};

/// The contents of those files, read one after the other.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(super) uptime: Option<f64>,
    pub(super) vmstat: Option<Counters>,
    pub(super) khugepaged: Counters,
    /// Counters of transparent huge pages, by size.
    pub(super) thp_counters: BTreeMap<PageSize, Counters>,
    /// The sizes of the pools.
    pub(super) pool_sizes: Vec<PageSize>,
    /// The sizes of transparent huge pages.
    pub(super) thp_sizes: Vec<PageSize>,
    pub(super) base_page: Option<Bytes>,
    pub(super) zones: Vec<Zone>,
    pub(super) free_blocks: Option<Vec<Blocks>>,
    /// One message for each unreadable file.
    pub unread: Vec<String>,
}

impl Snapshot {
    /// Reads all files; unreadable ones go to `unread`.
    ///
    /// # Errors
    /// If `/proc/meminfo` or the list of pools is unreadable.
    pub fn read(root: &Root) -> Result<Snapshot, FileError> {
        let meminfo = Meminfo::read(root)?;
        let mut unread = Unread::default();
        let zones = unread.value_or_default(zone::read(root));
        let base_page = unread.value_or_default(zone::base_page_size(root, meminfo.total, &zones));
        Ok(Snapshot {
            uptime: unread.value_or_default(vmstat::uptime(root)),
            vmstat: unread.value_or_default(vmstat::read(root)),
            khugepaged: unread.value_or_default(thp::stats::of_khugepaged(root)),
            thp_counters: unread.value_or_default(thp::stats::of_sizes(root)),
            thp_sizes: thp_sizes(unread.value_or_default(Thp::read(root))),
            free_blocks: unread.value_or_default(buddy::read(root)),
            pool_sizes: pool::sizes(root, meminfo.huge_page_size)?,
            base_page,
            zones,
            unread: unread.0,
        })
    }

    /// Returns all huge page sizes, smallest first.
    pub(super) fn sizes(&self) -> Vec<PageSize> {
        let mut sizes = [&self.pool_sizes[..], &self.thp_sizes].concat();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

fn thp_sizes(thp: Option<Thp>) -> Vec<PageSize> {
    let Some(thp) = thp else { return Vec::new() };
    let mut sizes: Vec<PageSize> = thp.sizes.iter().map(|thp_size| thp_size.size).collect();
    sizes.extend(thp.pmd_size);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Messages about unreadable files.
#[derive(Debug, Default)]
struct Unread(Vec<String>);

impl Unread {
    /// Returns the value, or records the error and returns the default.
    fn value_or_default<T: Default>(&mut self, result: Result<T, FileError>) -> T {
        result.unwrap_or_else(|error| {
            self.0.push(match error.errno() {
                Some(libc::EACCES | libc::EPERM) => format!("{error}; run this as root"),
                _ => error.to_string(),
            });
            T::default()
        })
    }
}

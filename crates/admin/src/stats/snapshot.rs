//! Reads the kernel's files once.

use std::collections::BTreeMap;

use hugetools_model::hugetlb::pool;
use hugetools_model::memory::buddy::{self, Blocks};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::vmstat::{self, Counters};
use hugetools_model::memory::zone::{self, Zone};
use hugetools_model::thp::{self, Thp};
use hugetools_model::{Bytes, FileError, PageSize, Root};

/// The contents of the kernel's files at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(super) uptime: Option<f64>,
    pub(super) vmstat: Option<Counters>,
    pub(super) khugepaged: Counters,
    pub(super) of_sizes: BTreeMap<PageSize, Counters>,
    /// The sizes of the pools.
    pub(super) pool_sizes: Vec<PageSize>,
    /// The sizes of transparent huge pages.
    pub(super) thp_sizes: Vec<PageSize>,
    pub(super) base_page: Option<Bytes>,
    pub(super) zones: Vec<Zone>,
    pub(super) blocks: Option<Vec<Blocks>>,
    /// Files that could not be read, and why.
    pub unread: Vec<String>,
}

impl Snapshot {
    /// Reads all files, as far as permissions allow.
    pub fn read(root: &Root) -> Result<Snapshot, FileError> {
        let meminfo = Meminfo::read(root)?;
        let mut unread = Unread::default();
        let zones = unread.or(zone::read(root));
        let base_page = unread.or(zone::base_page_size(root, meminfo.total, &zones));
        Ok(Snapshot {
            uptime: unread.or(vmstat::uptime(root)),
            vmstat: unread.or(vmstat::read(root)),
            khugepaged: unread.or(thp::stats::of_khugepaged(root)),
            of_sizes: unread.or(thp::stats::of_sizes(root)),
            thp_sizes: thp_sizes(unread.or(Thp::read(root))),
            blocks: unread.or(buddy::read(root)),
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
    let mut sizes: Vec<PageSize> = thp.sizes.iter().map(|own| own.size).collect();
    sizes.extend(thp.pmd_size);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Errors of unreadable files.
#[derive(Debug, Default)]
struct Unread(Vec<String>);

impl Unread {
    /// Returns the value, or records the error and returns the default.
    fn or<T: Default>(&mut self, result: Result<T, FileError>) -> T {
        result.unwrap_or_else(|why| {
            self.0.push(match why.errno() {
                Some(libc::EACCES | libc::EPERM) => format!("{why}; run this as root"),
                _ => why.to_string(),
            });
            T::default()
        })
    }
}

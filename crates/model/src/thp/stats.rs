//! Counters of transparent huge pages by size (`hugepages-*kB/stats`, since Linux 6.10)
//! and of khugepaged.

use std::collections::BTreeMap;

use crate::hugetlb::pool::sizes_in;
use crate::memory::vmstat::Counters;
use crate::root::Root;
use crate::root::error::FileError;
use crate::units::size::PageSize;

use super::{dir, size_dir};

/// Reads the counters of each size, named after their files. Omits a size without counters.
pub fn of_sizes(root: &Root) -> Result<BTreeMap<PageSize, Counters>, FileError> {
    let mut sizes = BTreeMap::new();
    for size in sizes_in(root, &dir())? {
        let stats = size_dir(size).join("stats");
        let mut counters = Counters::new();
        for file in root.list(&stats)? {
            let Some(name) = file.to_str() else { continue };
            if let Some(value) = root.number_opt(&stats.join(name))? {
                counters.insert(name.to_owned(), value);
            }
        }
        if !counters.is_empty() {
            sizes.insert(size, counters);
        }
    }
    Ok(sizes)
}

/// Reads the counters of khugepaged, named after their files.
pub fn of_khugepaged(root: &Root) -> Result<Counters, FileError> {
    let mut counters = Counters::new();
    for name in ["pages_collapsed", "full_scans"] {
        let file = dir().join(format_args!("khugepaged/{name}"));
        if let Some(value) = root.number_opt(&file)? {
            counters.insert(name.to_owned(), value);
        }
    }
    Ok(counters)
}

//! The tables of hugeadm. Scripts parse `--pool-list` and `--list-all-mounts`, so these have
//! libhugetlbfs' layout.
//!
//! **Invariants.** Columns keep their order and their names.

mod nodes;
pub mod size_for;
pub mod who;

use std::fmt::Write;
use std::path::Path;

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::mount::Mount;
use hugetools_model::{Bytes, PageCount, PageSize};
use serde::Serialize;

pub use nodes::{NodeRow, node_list, node_rows};

/// A row of the pool list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolRow {
    /// The page size.
    pub size: PageSize,
    /// Whether it is the default size.
    pub default: bool,
    /// The persistent pages.
    pub minimum: PageCount,
    /// All pages, with surplus pages.
    pub current: PageCount,
    /// The persistent pages plus the allowed surplus pages.
    pub maximum: PageCount,
    /// Free pages.
    pub free: PageCount,
    /// Free pages that are reserved.
    pub reserved: PageCount,
    /// Pages above the minimum.
    pub surplus: PageCount,
}

impl From<&Pool> for PoolRow {
    fn from(pool: &Pool) -> PoolRow {
        PoolRow {
            size: pool.size,
            default: pool.default,
            minimum: pool.minimum(),
            current: pool.total,
            maximum: pool.maximum(),
            free: pool.free,
            reserved: pool.reserved,
            surplus: pool.surplus,
        }
    }
}

/// A row of the mount list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MountRow {
    /// The mount point.
    pub point: String,
    /// The page size, if the kernel shows it.
    pub page_size: Option<PageSize>,
    /// All options.
    pub options: String,
}

impl From<&Mount> for MountRow {
    fn from(mount: &Mount) -> MountRow {
        MountRow {
            point: mount.point.to_string_lossy().into_owned(),
            page_size: mount.page_size(),
            options: mount.options.clone(),
        }
    }
}

/// `--pool-list`
pub fn pool_list(pools: &[PoolRow]) -> String {
    let mut table = format!(
        "{:>10} {:>8} {:>8} {:>8} {:>8}\n",
        "Size", "Minimum", "Current", "Maximum", "Default"
    );
    for pool in pools {
        let (size, default) = (pool.size.get(), if pool.default { "*" } else { "" });
        let (minimum, current, maximum) = (pool.minimum, pool.current, pool.maximum);
        let _ = writeln!(
            table,
            "{size:>10} {minimum:>8} {current:>8} {maximum:>8} {default:>8}"
        );
    }
    table
}

/// `--pool-list=long`
pub fn long_pool_list(pools: &[PoolRow]) -> String {
    let mut table = format!(
        "{:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}  Default\n",
        "Size", "Minimum", "Current", "Maximum", "Free", "Reserved", "Surplus", "Memory"
    );
    for pool in pools {
        let counts = [
            pool.minimum,
            pool.current,
            pool.maximum,
            pool.free,
            pool.reserved,
            pool.surplus,
        ];
        let _ = write!(table, "{:>6}", pool.size.to_string());
        for count in counts {
            let _ = write!(table, " {count:>8}");
        }
        let memory = Bytes::new(pool.size.get().saturating_mul(pool.current.get()));
        let mark = if pool.default { "  *" } else { "" };
        let _ = writeln!(table, " {:>8}{mark}", memory.to_string());
    }
    table
}

/// `--list-all-mounts`; empty without mounts.
pub fn mount_list(mounts: &[MountRow]) -> String {
    let Some(longest) = mounts.iter().map(|mount| mount.point.len()).max() else {
        return String::new();
    };
    // The width is in bytes, as in libhugetlbfs, even for multibyte characters.
    let width = longest.max(20);
    let mut table = format!("{:<width$} Options\n", "Mount Point");
    for MountRow { point, options, .. } in mounts {
        let blanks = " ".repeat(width - point.len());
        let _ = writeln!(table, "{point}{blanks} {options}");
    }
    table
}

/// `--page-sizes`: sizes with a pool that may have pages, and with an accessible mount.
pub fn usable_sizes(
    pools: &[Pool],
    mounts: &[Mount],
    accessible: impl Fn(&Path) -> bool,
) -> Vec<PageSize> {
    let mounted = |pool: &Pool| {
        let mut mounts = mounts.iter();
        mounts.any(|mount| mount.is_of(pool.size, pool.default) && accessible(&mount.point))
    };
    pools
        .iter()
        .filter(|pool| pool.maximum().get() > 0 && mounted(pool))
        .map(|pool| pool.size)
        .collect()
}

/// Formats sizes in bytes, one per line.
pub fn size_lines(sizes: &[PageSize]) -> String {
    let mut lines = String::new();
    for size in sizes {
        let _ = writeln!(lines, "{}", size.get());
    }
    lines
}

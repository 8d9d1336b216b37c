//! Huge page pools: `/sys/kernel/mm/hugepages/hugepages-*kB`, the same files for each
//! node below `/sys/devices/system/node/node*/hugepages`, and `/proc/sys/vm/nr_hugepages`
//! and related sysctls for the default size.
//!
//! `nr_hugepages` below `/sys` includes surplus pages; the sysctl of that name counts
//! persistent pages only. Writing either of them sets the persistent pages.

use std::ffi::OsString;

use hugetools_kernfs::number;
use hugetools_kernfs::pool::{self, kib_of_dir};

use crate::memory::meminfo::Meminfo;
use crate::memory::zone;
use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::size::{Bytes, PageCount, PageSize};

/// The pool of one page size, on all nodes together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The size of its pages.
    pub size: PageSize,
    /// Whether this is the kernel's default huge page size.
    pub default: bool,
    /// Total pages, surplus pages included.
    pub total: PageCount,
    /// Free pages.
    pub free: PageCount,
    /// Pages reserved for mappings that haven't touched them yet; included in `free`.
    pub reserved: PageCount,
    /// Surplus pages, above the persistent pool. They return to the buddy allocator when freed.
    pub surplus: PageCount,
    /// Maximum number of surplus pages; `None` if this size has no overcommit. For gigantic sizes
    /// before Linux 6.19, only [`forget_gigantic_overcommit`] makes it `None`.
    pub overcommit: Option<PageCount>,
}

impl Pool {
    /// Returns the persistent pages, which stay in the pool when freed.
    pub fn minimum(&self) -> PageCount {
        self.total.saturating_sub(self.surplus)
    }

    /// Returns the persistent pages plus the maximum of surplus pages.
    pub fn maximum(&self) -> PageCount {
        let overcommit = self.overcommit.unwrap_or(PageCount::ZERO);
        self.minimum()
            .checked_add(overcommit)
            .unwrap_or(PageCount::new(u64::MAX))
    }

    /// Returns the pages that a new mapping can get without growing the pool.
    pub fn available(&self) -> PageCount {
        self.free.saturating_sub(self.reserved)
    }
}

/// The file that sets the persistent pages.
pub const NR_HUGEPAGES: &str = "nr_hugepages";

/// `nr_hugepages` under the memory policy of the writing process. Needs `CONFIG_NUMA`.
pub const NR_HUGEPAGES_MEMPOLICY: &str = "nr_hugepages_mempolicy";

/// The file that sets the maximum number of surplus pages.
pub const NR_OVERCOMMIT_HUGEPAGES: &str = "nr_overcommit_hugepages";

/// Returns the directory of all pools.
pub fn dir() -> KPath {
    KPath::from("/sys/kernel/mm/hugepages")
}

/// Returns the directory of one pool.
pub fn pool_dir(size: PageSize) -> KPath {
    dir().join(format_args!("hugepages-{}kB", size.kib()))
}

/// Returns the sysctl that sets a counter of the default size.
pub fn sysctl_path(file: &str) -> KPath {
    KPath::from("/proc/sys/vm").join(file)
}

/// Returns the file that counts the surplus pages of a size, on all nodes together.
pub fn surplus_path(size: PageSize) -> KPath {
    pool_dir(size).join("surplus_hugepages")
}

/// Returns the file that sets a counter: a sysctl for the default size, otherwise in `/sys`.
pub fn counter_path(pool: &Pool, file: &str) -> KPath {
    match pool.default {
        true => sysctl_path(file),
        false => pool_dir(pool.size).join(file),
    }
}

/// Returns the sizes whose pools respect a memory policy.
pub(crate) fn with_mempolicy(root: &Root, pools: &[Pool]) -> Vec<PageSize> {
    let file = |pool: &&Pool| root.exists(&counter_path(pool, NR_HUGEPAGES_MEMPOLICY));
    pools.iter().filter(file).map(|pool| pool.size).collect()
}

/// Returns the page sizes of the subdirectories such as `hugepages-2048kB`, in ascending order.
pub(crate) fn sizes_in(root: &Root, dir: &KPath) -> Result<Vec<PageSize>, FileError> {
    let size = |name: OsString| kib_of_dir(name.as_encoded_bytes()).and_then(PageSize::from_kib);
    let mut sizes: Vec<PageSize> = root.list(dir)?.into_iter().filter_map(size).collect();
    sizes.sort_unstable();
    Ok(sizes)
}

/// Returns the sizes of the machine's pools and the default size, in ascending order.
pub fn sizes(root: &Root, default: Option<PageSize>) -> Result<Vec<PageSize>, FileError> {
    let mut sizes = sizes_in(root, &dir())?;
    sizes.extend(default);
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// Reads the pool of one size, and no other pool; `None` if there is none.
pub fn read_size(
    root: &Root,
    size: PageSize,
    meminfo: &Meminfo,
) -> Result<Option<Pool>, FileError> {
    let default = meminfo.huge_page_size == Some(size);
    let dir = pool_dir(size);
    let number = |name: &str| root.number_opt(&dir.join(name));
    let count = |name: &str| Ok(number(name)?.map(pool::count).map(PageCount::new));
    let Some(total) = count("nr_hugepages")? else {
        return Ok(None);
    };
    let zero = PageCount::ZERO;
    let mut pool = Pool {
        size,
        default,
        total,
        free: count("free_hugepages")?.unwrap_or(zero),
        reserved: count("resv_hugepages")?.unwrap_or(zero),
        surplus: count("surplus_hugepages")?.unwrap_or(zero),
        overcommit: number("nr_overcommit_hugepages")?.map(PageCount::new),
    };
    if default {
        use_sysctl(root, &mut pool)?;
    }
    Ok(Some(pool))
}

/// Reads the maximum of surplus pages of a pool.
pub fn read_overcommit(root: &Root, pool: &Pool) -> Result<Option<PageCount>, FileError> {
    let path = counter_path(pool, NR_OVERCOMMIT_HUGEPAGES);
    Ok(root.number_opt(&path)?.map(PageCount::new))
}

/// Reads all pools, smallest pages first.
pub fn read(root: &Root, meminfo: &Meminfo) -> Result<Vec<Pool>, FileError> {
    let sizes = sizes_in(root, &dir())?.into_iter();
    let pools = sizes.map(|size| read_size(root, size, meminfo));
    pools.filter_map(Result::transpose).collect()
}

/// Major and minor number of a kernel version.
type Version = (u64, u64);

/// Returns the kernel's version; `None` if its release doesn't begin with a version number.
fn version(root: &Root) -> Result<Option<Version>, FileError> {
    let release = root.read_opt(&KPath::from("/proc/sys/kernel/osrelease"))?;
    Ok(release.and_then(|release| parse_version(&release)))
}

fn parse_version(release: &[u8]) -> Option<Version> {
    let (major, rest) = number::decimal(release)?;
    let (minor, _) = number::decimal(rest.strip_prefix(b".")?)?;
    Some((major, minor))
}

/// Clears the overcommit of gigantic sizes before Linux 6.19. Their files exist, but writing
/// them fails with EINVAL. A nonzero limit proves that overcommit works.
pub fn forget_gigantic_overcommit(
    root: &Root,
    base: Option<Bytes>,
    pools: &mut [Pool],
) -> Result<(), FileError> {
    let block = zone::largest_block(root, base)?;
    if version(root)?.is_some_and(|version| version >= GIGANTIC_OVERCOMMIT) {
        return Ok(());
    }
    for pool in pools {
        let gigantic = block.is_some_and(|block| pool.size.get() > block.get());
        if gigantic && pool.overcommit == Some(PageCount::ZERO) {
            pool.overcommit = None;
        }
    }
    Ok(())
}

/// The first kernel with overcommit for gigantic pages.
const GIGANTIC_OVERCOMMIT: Version = (6, 19);

/// Takes the pool's total and overcommit from the sysctls, which hugeadm writes for the default
/// size. In a recorded tree, a write changes only them; a live kernel keeps `/sys` equal.
fn use_sysctl(root: &Root, pool: &mut Pool) -> Result<(), FileError> {
    if let Some(persistent) = root.number_opt(&sysctl_path(NR_HUGEPAGES))? {
        pool.total = PageCount::new(persistent)
            .checked_add(pool.surplus)
            .unwrap_or(pool.total);
    }
    if let Some(overcommit) = root.number_opt(&sysctl_path(NR_OVERCOMMIT_HUGEPAGES))? {
        pool.overcommit = Some(PageCount::new(overcommit));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_kernels() {
        assert_eq!(parse_version(b"6.18.44-fc-v657\n"), Some((6, 18)));
        assert_eq!(parse_version(b"7.0-rc1\n"), Some((7, 0)));
        assert_eq!(parse_version(b"next\n"), None);
    }
}

//! Sysctls other than the pools': `/proc/sys/vm` and `/proc/sys/kernel`.

use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;

/// The sysctls that concern huge pages; `None` if the kernel lacks one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sysctl {
    /// `vm.hugetlb_shm_group`: the group that may use `SHM_HUGETLB`.
    pub hugetlb_shm_group: Option<u64>,
    /// `kernel.shmmax`: maximum size of a System V segment in bytes.
    pub shmmax: Option<u64>,
    /// `vm.min_free_kbytes`: the page allocator's reserve.
    pub min_free_kbytes: Option<u64>,
    /// `vm.hugetlb_optimize_vmemmap`: whether the kernel frees the struct pages of new
    /// huge pages, since Linux 5.19.
    pub hugetlb_optimize_vmemmap: Option<u64>,
}

/// `/proc/sys/vm/hugetlb_shm_group`
pub fn shm_group_path() -> KPath {
    KPath::from("/proc/sys/vm/hugetlb_shm_group")
}

/// `/proc/sys/kernel/shmmax`
pub fn shmmax_path() -> KPath {
    KPath::from("/proc/sys/kernel/shmmax")
}

/// `/proc/sys/vm/min_free_kbytes`
pub fn min_free_path() -> KPath {
    KPath::from("/proc/sys/vm/min_free_kbytes")
}

/// `/proc/sys/vm/hugetlb_optimize_vmemmap`
pub fn optimize_vmemmap_path() -> KPath {
    KPath::from("/proc/sys/vm/hugetlb_optimize_vmemmap")
}

impl Sysctl {
    /// Reads the values.
    pub fn read(root: &Root) -> Result<Sysctl, FileError> {
        Ok(Sysctl {
            hugetlb_shm_group: root.number_opt(&shm_group_path())?,
            shmmax: root.number_opt(&shmmax_path())?,
            min_free_kbytes: root.number_opt(&min_free_path())?,
            hugetlb_optimize_vmemmap: root.number_opt(&optimize_vmemmap_path())?,
        })
    }
}

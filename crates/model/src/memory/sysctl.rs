//! Sysctls other than the pools': `/proc/sys/vm` and `/proc/sys/kernel`.

use serde::Serialize;

use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;

/// The sysctls that concern huge pages; `None` if the kernel lacks one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
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
    /// `vm.hugepages_treat_as_movable`: until Linux 4.16.
    pub hugepages_treat_as_movable: Option<u64>,
    /// `vm.max_map_count`: maximum number of mappings of a process.
    pub max_map_count: Option<u64>,
    /// `vm.overcommit_memory`: 2 is strict.
    pub overcommit_memory: Option<u64>,
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

/// `/proc/sys/vm/hugepages_treat_as_movable`
pub fn movable_path() -> KPath {
    KPath::from("/proc/sys/vm/hugepages_treat_as_movable")
}

impl Sysctl {
    /// Reads the values.
    pub fn read(root: &Root) -> Result<Sysctl, FileError> {
        let number = |path: &'static str| root.number_opt(&KPath::from(path));
        Ok(Sysctl {
            hugetlb_shm_group: root.number_opt(&shm_group_path())?,
            shmmax: root.number_opt(&shmmax_path())?,
            min_free_kbytes: root.number_opt(&min_free_path())?,
            hugetlb_optimize_vmemmap: root.number_opt(&optimize_vmemmap_path())?,
            hugepages_treat_as_movable: root.number_opt(&movable_path())?,
            max_map_count: number("/proc/sys/vm/max_map_count")?,
            overcommit_memory: number("/proc/sys/vm/overcommit_memory")?,
        })
    }
}

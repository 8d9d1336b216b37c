//! The sysctls beside the pools: `/proc/sys/vm` and `/proc/sys/kernel`.

use serde::Serialize;

use crate::error::FileError;
use crate::kpath::KPath;
use crate::root::Root;

/// The sysctls that bear on huge pages; `None` where this kernel has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Sysctl {
    /// `vm.hugetlb_shm_group`: the group that may use `SHM_HUGETLB`.
    pub hugetlb_shm_group: Option<u64>,
    /// `kernel.shmmax`: the largest System V segment, in bytes.
    pub shmmax: Option<u64>,
    /// `vm.max_map_count`: how many mappings a process may have.
    pub max_map_count: Option<u64>,
    /// `vm.overcommit_memory`: 2 is strict.
    pub overcommit_memory: Option<u64>,
}

/// `/proc/sys/vm/hugetlb_shm_group`
pub fn shm_group_path() -> KPath {
    KPath::from("/proc/sys/vm/hugetlb_shm_group")
}

impl Sysctl {
    /// Reads the values.
    pub fn read(root: &Root) -> Result<Sysctl, FileError> {
        let number = |path: &'static str| root.number_opt(&KPath::from(path));
        Ok(Sysctl {
            hugetlb_shm_group: root.number_opt(&shm_group_path())?,
            shmmax: number("/proc/sys/kernel/shmmax")?,
            max_map_count: number("/proc/sys/vm/max_map_count")?,
            overcommit_memory: number("/proc/sys/vm/overcommit_memory")?,
        })
    }
}

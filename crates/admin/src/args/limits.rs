//! Options for shared memory and the page allocator.

use clap::Args;

/// Options for shared memory and the page allocator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Shared memory and limits")]
pub struct Limits {
    /// Let the members of a group (name or number) create shared memory of huge
    /// pages
    ///
    /// Sets vm.hugetlb_shm_group, which shmget(2) checks for SHM_HUGETLB.
    #[arg(long, value_name = "GROUP")]
    pub set_shm_group: Option<String>,

    /// Let threaded programs of a group (name or number) fork from huge pages
    ///
    /// Gives /dev/userfaultfd to the group (Linux 6.1). Its members' programs can
    /// then keep heap, data and bss on a pool while they have threads; see
    /// libhugetlbfs(7). With that device a program can also delay its own system
    /// calls indefinitely.
    #[arg(long, value_name = "GROUP")]
    pub set_userfaultfd_group: Option<String>,

    /// Raise kernel.shmmax to the size of all pools at their maximum
    ///
    /// Never lowers it. Today's kernels have no limit by default.
    #[arg(long)]
    pub set_recommended_shmmax: bool,

    /// Raise vm.min_free_kbytes so that free memory fragments less
    ///
    /// Sets the kernel's own recommendation for huge pages, at most 5% of low
    /// memory. Never lowers it.
    #[arg(long = "set-recommended-min_free_kbytes")]
    pub set_recommended_min_free_kbytes: bool,

    /// Reported as an error: Linux 4.16 removed this setting
    #[arg(long, overrides_with = "disable_zone_movable")]
    pub enable_zone_movable: bool,

    /// Reported as an error: Linux 4.16 removed this setting
    #[arg(long, overrides_with = "enable_zone_movable")]
    pub disable_zone_movable: bool,
}

impl Limits {
    /// Whether any option changes something.
    pub(super) fn changes(&self) -> bool {
        *self != Limits::default()
    }
}

//! Options about shared memory and the page allocator.

use clap::Args;

/// What to change about shared memory and the page allocator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Shared memory and limits")]
pub struct Limits {
    /// Let the members of a group (name or number) make shared memory of huge pages
    ///
    /// Sets vm.hugetlb_shm_group, which shmget(2) with SHM_HUGETLB asks.
    #[arg(long, value_name = "GROUP")]
    pub set_shm_group: Option<String>,

    /// Let the members of a group (name or number) fork from huge pages while threads run
    ///
    /// Gives /dev/userfaultfd to the group (Linux 6.1). Its members' programs then
    /// keep heap, data and bss on a pool beside threads; see libhugetlbfs(7). Such a
    /// program could also hold up system calls of its own for as long as it likes.
    #[arg(long, value_name = "GROUP")]
    pub set_userfaultfd_group: Option<String>,

    /// Raise kernel.shmmax to what all pools hold at their maximum
    ///
    /// It is never lowered; the default of today's kernels is no limit.
    #[arg(long)]
    pub set_recommended_shmmax: bool,

    /// Raise vm.min_free_kbytes so that memory stays in large pieces
    ///
    /// The kernel's own recommendation for huge pages, at most 5% of low memory.
    /// It is never lowered.
    #[arg(long = "set-recommended-min_free_kbytes")]
    pub set_recommended_min_free_kbytes: bool,

    /// Let pools take pages from ZONE_MOVABLE; Linux before 4.16
    #[arg(long, overrides_with = "disable_zone_movable")]
    pub enable_zone_movable: bool,

    /// Let pools take no pages from ZONE_MOVABLE; Linux before 4.16
    #[arg(long, overrides_with = "enable_zone_movable")]
    pub disable_zone_movable: bool,
}

impl Limits {
    /// Whether anything is to be changed.
    pub(super) fn changes(&self) -> bool {
        *self != Limits::default()
    }
}

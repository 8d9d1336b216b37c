//! Findings about mounts, shared memory and free memory.

use hugetools_model::Machine;
use hugetools_model::hugetlb::pool::Pool;

use super::Finding;
use crate::recommend;

pub(super) fn find(machine: &Machine, found: &mut Vec<Finding>) {
    found.extend(machine.pools.iter().filter_map(|pool| mount(pool, machine)));
    found.extend(shmmax(machine));
    found.extend(min_free(machine));
}

fn mount(pool: &Pool, machine: &Machine) -> Option<Finding> {
    let mut mounts = machine.mounts.iter();
    let is_mounted = mounts.any(|mount| mount.is_of(pool.size, pool.default));
    (pool.maximum().get() > 0 && !is_mounted).then(|| {
        Finding::new(
            "mount",
            format!("no hugetlbfs with pages of {} is mounted", pool.size),
            "programs that need a mount fail, such as QEMU with mem-path",
            "hugeadm --create-global-mounts",
        )
    })
}

fn shmmax(machine: &Machine) -> Option<Finding> {
    let (now, wanted) = (
        machine.sysctl.shmmax?,
        recommend::shmmax(machine, Pool::maximum),
    );
    (now < wanted).then(|| {
        Finding::new(
            "shared_memory",
            format!("kernel.shmmax is {now} bytes, but the pools may grow to {wanted} bytes"),
            "a shared memory segment may be limited to less than a pool",
            "hugeadm --set-recommended-shmmax",
        )
    })
}

fn min_free(machine: &Machine) -> Option<Finding> {
    let (now, wanted) = (
        machine.sysctl.min_free_kbytes?,
        recommend::min_free_kbytes(machine)?,
    );
    (now < wanted).then(|| {
        Finding::new(
            "memory",
            format!("vm.min_free_kbytes is {now} kB; the kernel sets {wanted} kB for huge pages"),
            "free memory fragments, and allocations of huge pages may fail",
            "hugeadm --set-recommended-min_free_kbytes",
        )
    })
}

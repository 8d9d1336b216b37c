//! Findings about mounts.

use hugetools_model::Machine;

use super::Finding;

pub(super) fn find(machine: &Machine, found: &mut Vec<Finding>) {
    for pool in &machine.pools {
        let mut mounts = machine.mounts.iter();
        if pool.maximum().get() > 0 && !mounts.any(|mount| mount.is_of(pool.size, pool.default)) {
            found.push(Finding::new(
                "mount",
                format!("no hugetlbfs with pages of {} is mounted", pool.size),
                "programs that map them as files, such as QEMU and DPDK, fail",
                "hugeadm --create-global-mounts",
            ));
        }
    }
}

//! Findings about shared memory and free memory.

use hugetools_model::Machine;

use super::{Fact, Finding, ShmGroup};
use crate::recommend;

pub(super) fn find(machine: &Machine, group: &ShmGroup, found: &mut Vec<Finding>) {
    found.extend(shm_group(group));
    found.extend(shmmax(machine));
    found.extend(min_free(machine));
}

fn shm_group(group: &ShmGroup) -> Option<Finding> {
    match group {
        ShmGroup::Unknown | ShmGroup::Known(_) => None,
        ShmGroup::Missing(gid) => Some(Finding::new(
            "shared_memory",
            format!("vm.hugetlb_shm_group is {gid}, but no such group exists"),
            "only root can create shared memory of huge pages",
            "hugeadm --set-shm-group root",
        )),
    }
}

/// A group without members. This is a fact, since only the administrator knows whom to
/// add.
pub(super) fn empty_group(group: &ShmGroup) -> Option<Fact> {
    match group {
        // Root needs no permission: group 0 means that no group has it.
        ShmGroup::Known(group) if group.id != 0 && group.members.is_empty() => Some(Fact::new(
            "shared_memory",
            format!(
                "vm.hugetlb_shm_group is {}, which has no members",
                group.name
            ),
            "only root can create shared memory of huge pages until usermod adds a user to the group",
        )),
        _ => None,
    }
}

fn shmmax(machine: &Machine) -> Option<Finding> {
    let (now, wanted) = (machine.sysctl.shmmax?, recommend::shmmax(machine));
    (now < wanted).then(|| {
        Finding::new(
            "shared_memory",
            format!("kernel.shmmax is {now}, but all pools together hold {wanted} bytes"),
            "one shared memory segment cannot use all of them",
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
            format!(
                "vm.min_free_kbytes is {now}, less than the {wanted} that the kernel recommends"
            ),
            "free memory fragments, and allocations of huge pages fail",
            "hugeadm --set-recommended-min_free_kbytes",
        )
    })
}

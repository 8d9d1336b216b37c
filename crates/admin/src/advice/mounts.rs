//! Findings about mounts.

use hugetools_model::Machine;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::mount::{Mount, escape, mounted_at};

use super::Finding;
use crate::plan::shell::quote_text;

pub(super) fn find(machine: &Machine, found: &mut Vec<Finding>) {
    for pool in &machine.pools {
        if pool.maximum().get() > 0 && !machine.mounts.iter().any(|mount| is_of(mount, pool)) {
            found.push(Finding::new(
                "mount",
                format!("no hugetlbfs with pages of {} is mounted", pool.size),
                "programs that map them as files, such as QEMU and DPDK, fail",
                "hugeadm --create-global-mounts",
            ));
        }
    }
    // Commands only reach the topmost mount of a directory.
    let mounts = machine.mounts.iter();
    for mount in mounts.filter(|mount| mounted_at(&machine.mounts, &mount.point) == Some(mount)) {
        found.extend(unusable(mount, machine));
    }
}

/// Old kernels omit pagesize= for the default size.
fn is_of(mount: &Mount, pool: &Pool) -> bool {
    mount
        .page_size()
        .map_or(pool.default, |size| size == pool.size)
}

fn unusable(mount: &Mount, machine: &Machine) -> Option<Finding> {
    let point = escape(&mount.point);
    let quoted = quote_text(&mount.point.to_string_lossy());
    let pool = machine.pools.iter().find(|pool| is_of(mount, pool))?;
    if mount.options.split(',').any(|option| option == "ro") {
        return Some(Finding::new(
            "mount",
            format!("{point} is mounted read-only"),
            "no program can create files on it",
            format!("mount -o remount,rw {quoted}"),
        ));
    }
    if mount.option("size") == Some("0") {
        return Some(Finding::new(
            "mount",
            format!("{point} has a limit of less than one page of {}", pool.size),
            "it cannot hold any file; unmount it, then mount it with a larger limit",
            format!("umount {quoted}"),
        ));
    }
    None
}

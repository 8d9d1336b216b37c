//! Whether something may keep this process from huge pages that it has a
//! reservation for: then a first touch could kill it.

use hugetools_kernfs::{keyed, list};

use crate::kernel::{cgroup, procfile};
use crate::sys;

/// Whether anything may limit this process to fewer hugetlb pages of this size
/// than it has reserved. Yes, where it cannot be told.
pub fn may_limit(size: usize) -> bool {
    cgroup::may_limit_hugetlb(size) || has_policy() || has_cpuset()
}

/// Whether the thread has a memory policy of its own.
fn has_policy() -> bool {
    match sys::thread_policy() {
        Ok(mode) => mode != libc::MPOL_DEFAULT,
        // Without CONFIG_NUMA there are no policies.
        Err(error) => error.0 != libc::ENOSYS,
    }
}

/// Whether some nodes with memory are out of reach.
fn has_cpuset() -> bool {
    procfile::look(|| Some(find_cpuset())).unwrap_or(true)
}

fn find_cpuset() -> bool {
    let mut buffer = [0; 256];
    let nodes = procfile::head(c"/sys/devices/system/node/has_memory", &mut buffer);
    if nodes.is_empty() {
        // Without CONFIG_NUMA there is one node; else it cannot be told.
        return sys::links(c"/sys/devices/system").is_none();
    }
    let allowed = |line: &[u8]| {
        let list = keyed::value_in(line, b"Mems_allowed_list:")?;
        Some(list::covers(list, nodes) != Some(true))
    };
    // The line is there wherever there are cpusets.
    procfile::each_line(c"/proc/self/status", allowed)
        .unwrap_or_else(|| sys::links(c"/proc/self").is_none())
}

//! Limits that may keep this process from huge pages that it has reserved, so that the first touch
//! raises SIGBUS.

use hugetools_kernfs::{keyed, list};

use crate::kernel::{cgroup, procfile};
use crate::sys;

/// Whether this process may get fewer hugetlb pages of this size than it has reserved; `true` if
/// unknown.
pub fn may_limit(size: usize) -> bool {
    cgroup::may_limit_hugetlb(size) || has_policy() || has_cpuset()
}

fn has_policy() -> bool {
    match sys::thread_policy() {
        Ok(mode) => mode != libc::MPOL_DEFAULT,
        // A kernel without CONFIG_NUMA has no policies.
        Err(error) => error.0 != libc::ENOSYS,
    }
}

/// Whether the cpuset excludes a node that has memory.
fn has_cpuset() -> bool {
    procfile::if_allowed(find_cpuset).unwrap_or(true)
}

fn find_cpuset() -> Option<bool> {
    let mut buffer = [0; 256];
    let nodes = procfile::known_head(c"/sys/devices/system/node/has_memory", &mut buffer)?;
    if nodes.is_empty() {
        // A kernel without CONFIG_NUMA has one node.
        return sys::link_count(c"/sys/devices/system").map(|_| false);
    }
    let mut is_read = false;
    let excludes_node = |line: &[u8]| {
        is_read = true;
        let list = keyed::value_in(line, b"Mems_allowed_list:")?;
        Some(list::covers(list, nodes) != Some(true))
    };
    // Every kernel with cpusets prints this line.
    procfile::each_line(c"/proc/self/status", excludes_node).or(is_read.then_some(false))
}

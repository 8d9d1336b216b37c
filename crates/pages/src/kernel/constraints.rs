//! Whether something may keep this process from huge pages that it has a
//! reservation for: then a first touch could kill it.

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
        Ok(policy) => policy.mode != libc::MPOL_DEFAULT,
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
        let list = line.strip_prefix(b"Mems_allowed_list:")?;
        Some(!covers(list.trim_ascii(), nodes.trim_ascii()))
    };
    // The line is there wherever there are cpusets.
    procfile::each_line(c"/proc/self/status", allowed)
        .unwrap_or_else(|| sys::links(c"/proc/self").is_none())
}

/// Whether every member of the kernel's list `inner` is in `outer`.
fn covers(outer: &[u8], inner: &[u8]) -> bool {
    parts(inner).all(|(first, last)| {
        (first..=last).all(|n| parts(outer).any(|(from, to)| from <= n && n <= to))
    })
}

/// The ranges of a list such as `0-3,8`; what is no number ends it.
fn parts(list: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    list.split(|b| *b == b',').map_while(|part| {
        let mut ends = part.splitn(2, |b| *b == b'-');
        let first = procfile::leading_number(ends.next()?)?;
        let last = match ends.next() {
            Some(last) => procfile::leading_number(last)?,
            None => first,
        };
        Some((first, last.min(first + 4096)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_cover_others() {
        assert!(covers(b"0-7", b"0-3,5-7"));
        assert!(covers(b"0", b"0"));
        assert!(!covers(b"0-1", b"0-3"));
        assert!(!covers(b"", b"0"));
    }
}

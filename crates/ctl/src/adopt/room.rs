//! How much a process may grow without harm to the machine or its memory control group.

use hugetools_model::Root;
use hugetools_model::machine::MEMINFO;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::vmstat;
use hugetools_model::process::{Pid, cgroup};

/// The memory that is left, and what limits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) free: u64,
    /// Bytes by which the process may grow. The rest of `free` is a reserve, because a
    /// process that fills its group is killed at its next allocation.
    pub(super) growth: u64,
    pub(super) reason: String,
}

impl Room {
    /// Whether `size` bytes can be collapsed, which adds `growth` bytes. The kernel holds the new
    /// page and the old ones at the same time.
    pub(super) fn holds(&self, size: u64, growth: u64) -> bool {
        self.free >= size && (growth == 0 || self.growth >= size.saturating_add(growth))
    }
}

/// Reads the room of a process. An unreadable limit leaves none.
pub(super) fn room(root: &Root, pid: Pid) -> Room {
    let unknown = |file: &str| Room {
        free: 0,
        growth: 0,
        reason: format!("the memory that may be added is unknown: {file} cannot be read"),
    };
    let Some(available) = available(root) else {
        return unknown(MEMINFO);
    };
    let machine = Room {
        free: available,
        growth: available,
        reason: "the machine has too little memory available".to_owned(),
    };
    let membership = pid.path("cgroup");
    let group = match cgroup::tightest_memory(root, &membership) {
        Ok(None) if cgroup::is_memory_hidden(root, &membership).unwrap_or(true) => {
            return unknown("its memory control group, outside this cgroup namespace,");
        }
        Ok(None) => return machine,
        Ok(Some(limit)) => limit,
        Err(_) => return unknown("the limit of its memory control group"),
    };
    let Some(rest) = group.unused() else {
        return unknown(&format!("the usage for {}", group.file));
    };
    let free = rest
        .get()
        .saturating_add(cgroup::inactive_cache(root, &group).get());
    let growth = free.saturating_sub(reserve(group.limit.get()));
    match growth < machine.growth {
        true => Room {
            free: free.min(machine.free),
            growth,
            reason: format!("{} leaves no room for more memory", group.file),
        },
        false => machine,
    }
}

/// Returns MemAvailable minus the reserve.
fn available(root: &Root) -> Option<u64> {
    let meminfo = Meminfo::read(root).ok()?;
    let available = meminfo.available?.get();
    Some(available.saturating_sub(reserve(meminfo.total.get())))
}

/// Returns the bytes of a limit to keep free: the larger of 512 MiB and 5 %, at most a quarter.
fn reserve(limit: u64) -> u64 {
    const LEAST: u64 = 512 << 20;
    LEAST.max(limit / 20).min(limit / 4)
}

/// Returns how many collapses, of all processes, failed to allocate a huge page.
pub(super) fn failed_allocations(root: &Root) -> Option<u64> {
    let counters = vmstat::read(root).ok().flatten()?;
    counters.get("thp_collapse_alloc_failed").copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::kernel::tests::tree;

    fn room_with(files: &[(&str, &str)]) -> (u64, u64, String) {
        let (_dir, root) = tree(&[&[("proc/version", "")], files].concat());
        let room = room(&root, Pid::new(7).unwrap());
        (room.free >> 20, room.growth >> 20, room.reason)
    }

    #[test]
    fn a_limit_leaves_a_reserve_and_an_unknown_one_no_room() {
        let files = [
            (
                "proc/meminfo",
                "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n",
            ),
            ("proc/7/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/a/memory.max", "104857600\n"),
            ("sys/fs/cgroup/a/memory.current", "4194304\n"),
        ];
        for (count, free, growth, reason) in [
            (0, 0, 0, "/proc/meminfo cannot be read"),
            (1, 3584, 3584, "the machine"),
            (4, 0, 0, "/a/memory.max cannot be read"),
            (5, 96, 71, "/a/memory.max leaves no room"),
        ] {
            let room = room_with(&files[..count]);
            assert_eq!((room.0, room.1), (free, growth));
            assert!(room.2.contains(reason), "{room:?}");
        }
    }
}

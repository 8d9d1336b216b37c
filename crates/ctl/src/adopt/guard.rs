//! Whether all is as it was when the plan was made: the process, and the kernel's
//! ease to find memory.

use std::os::fd::OwnedFd;

use hugetools_model::Root;
use hugetools_model::machine::MEMINFO;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::vmstat::{self, Counters};
use hugetools_model::process::{Pid, cgroup};

use super::image::Image;
use super::plan::Room;
use super::reason::Reason;
use crate::sys::pidfd;

/// How a process is no more what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// It has ended.
    Ended,
    /// It executes another program.
    Executes,
}

/// Looks after one process.
#[derive(Debug)]
pub(super) struct Guard<'r> {
    root: &'r Root,
    pid: Pid,
    image: Option<Image>,
    /// Stands for this process, whoever gets its number afterwards.
    process: &'r OwnedFd,
    counters: Counters,
}

impl<'r> Guard<'r> {
    pub(super) fn new(root: &'r Root, pid: Pid, process: &'r OwnedFd) -> Guard<'r> {
        Guard {
            root,
            pid,
            image: Image::read(root, pid),
            process,
            counters: counters(root),
        }
    }

    /// The process itself.
    pub(super) fn process(&self) -> &'r OwnedFd {
        self.process
    }

    /// Whether it has ended, or is another program by now.
    pub(super) fn gone(&self) -> Option<Gone> {
        let now = Image::read(self.root, self.pid);
        match (&self.image, now) {
            _ if pidfd::has_ended(self.process) => Some(Gone::Ended),
            (Some(_), None) | (None, _) => Some(Gone::Ended),
            (Some(before), Some(now)) if !now.is_same(before) => Some(Gone::Executes),
            _ => None,
        }
    }

    /// Whether the kernel had to move or to free memory since the last look, for anybody.
    pub(super) fn has_stalled(&mut self) -> bool {
        let now = counters(self.root);
        let is_stall = |name: &str| name == "compact_stall" || name.starts_with("allocstall_");
        let stalled = now
            .iter()
            .any(|(name, count)| is_stall(name) && self.is_more(name, *count));
        self.counters = now;
        stalled
    }

    /// Whether there was no huge page for a collapse since the last look.
    pub(super) fn lacked_huge_page(&self) -> bool {
        const NAME: &str = "thp_collapse_alloc_failed";
        counters(self.root)
            .get(NAME)
            .is_some_and(|count| self.is_more(NAME, *count))
    }

    /// Whether that is more than at the last look, if there was anything to be seen then.
    fn is_more(&self, name: &str, count: u64) -> bool {
        self.counters
            .get(name)
            .is_some_and(|before| count > *before)
    }

    /// How much more memory the process may have.
    pub(super) fn room(&self) -> Room {
        room(self.root, self.pid)
    }
}

fn counters(root: &Root) -> Counters {
    vmstat::read(root).ok().flatten().unwrap_or_default()
}

/// How much more memory a process may have: what the machine has available, but for a
/// margin, and what its memory control groups leave. A program that fills its group goes on
/// allocating and is killed, so it may grow only to the same margin below that limit.
/// Where that cannot be told, there is no room.
pub(super) fn room(root: &Root, pid: Pid) -> Room {
    let untold = |reason: Option<String>| Room {
        bytes: 0,
        growth: 0,
        reason: Reason::Untold(reason.unwrap_or_else(|| MEMINFO.to_owned())),
    };
    let Some(available) = available(root) else {
        return untold(None);
    };
    let machine = Room {
        bytes: available,
        growth: available,
        reason: Reason::Machine,
    };
    let membership = pid.path("cgroup");
    let group = match cgroup::tightest_memory(root, &membership) {
        Ok(None) => return machine,
        Ok(Some(limit)) => limit,
        Err(_) => return untold(Some("the limit of its memory control group".to_owned())),
    };
    let Some(rest) = group.rest() else {
        return untold(Some(format!("what is used of {}", group.file)));
    };
    let cache = cgroup::inactive_cache(root, &group);
    let bytes = rest.get().saturating_add(cache.get());
    let growth = bytes.saturating_sub(margin(group.limit.get()));
    match growth < machine.growth {
        true => Room {
            bytes: bytes.min(machine.bytes),
            growth,
            reason: Reason::Group(group.file.to_string()),
        },
        false => machine,
    }
}

/// What the machine has available, but for a margin.
fn available(root: &Root) -> Option<u64> {
    let meminfo = Meminfo::read(root).ok()?;
    let available = meminfo.available?.get();
    Some(available.saturating_sub(margin(meminfo.total.get())))
}

/// The bytes of a limit that stay free: 512 MiB or 5%, at most a quarter.
fn margin(limit: u64) -> u64 {
    const LEAST: u64 = 512 << 20;
    LEAST.max(limit / 20).min(limit / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    /// A machine with these files.
    fn room_of(files: &[(&str, &str)]) -> Room {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("proc")).unwrap();
        let root = Root::at(dir.path()).unwrap();
        for (path, text) in files {
            let path = root.host_path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = fs::File::create(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        room(&root, Pid::new(7).unwrap())
    }

    #[test]
    fn what_cannot_be_read_leaves_no_room_and_is_named() {
        const MEMORY: (&str, &str) = (
            "/proc/meminfo",
            "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n",
        );
        const GROUP: (&str, &str) = ("/proc/7/cgroup", "0::/a\n");
        const MOUNT: (&str, &str) = ("/sys/fs/cgroup/cgroup.controllers", "memory\n");
        const LIMIT: (&str, &str) = ("/sys/fs/cgroup/a/memory.max", "104857600\n");
        const USED: (&str, &str) = ("/sys/fs/cgroup/a/memory.current", "4194304\n");
        let untold = |what: &str| Room {
            bytes: 0,
            growth: 0,
            reason: Reason::Untold(what.to_owned()),
        };
        assert_eq!(room_of(&[]), untold("/proc/meminfo"));
        let without = ("/proc/meminfo", "MemTotal: 8388608 kB\n");
        assert_eq!(room_of(&[without]), untold("/proc/meminfo"));
        assert_eq!(room_of(&[MEMORY]).reason, Reason::Machine);
        let all = room_of(&[MEMORY, GROUP, MOUNT, LIMIT, USED]);
        assert_eq!((all.bytes, all.growth), (96 << 20, 71 << 20));
        let unused = room_of(&[MEMORY, GROUP, MOUNT, LIMIT]);
        assert_eq!(
            unused,
            untold("what is used of /sys/fs/cgroup/a/memory.max")
        );
        let odd = (LIMIT.0, "much\n");
        let odd = room_of(&[MEMORY, GROUP, MOUNT, odd]);
        assert_eq!(odd, untold("the limit of its memory control group"));
    }
}

//! Whether all is as it was when the plan was made: the process, and the kernel's
//! ease to find memory.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hugetools_model::Root;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::vmstat::{self, Counters};
use hugetools_model::process::{Pid, cgroup};

use super::plan::Room;
use super::reason::Reason;
use crate::sys::aside;
use crate::unseen_end::look::Stat;

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
    stat: Option<Stat>,
    /// Stands for this process, whoever gets its number afterwards.
    process: &'r OwnedFd,
    counters: Counters,
}

impl<'r> Guard<'r> {
    pub(super) fn new(root: &'r Root, pid: Pid, process: &'r OwnedFd) -> Guard<'r> {
        Guard {
            root,
            pid,
            stat: Stat::read(root, pid.get()),
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
        let now = Stat::read(self.root, self.pid.get());
        let ended = aside::wait(&[self.process], Duration::ZERO);
        match (&self.stat, now) {
            _ if ended.contains(&true) => Some(Gone::Ended),
            (Some(_), None) | (None, _) => Some(Gone::Ended),
            (Some(before), Some(now)) if !now.is_same_image(before) => Some(Gone::Executes),
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
/// margin, and what its memory control groups leave.
pub(super) fn room(root: &Root, pid: Pid) -> Room {
    const MARGIN: u64 = 512 << 20;
    let available = Meminfo::read(root).ok().and_then(|meminfo| {
        let total = meminfo.total.get();
        let available = meminfo.available?.get();
        Some(available.saturating_sub(MARGIN.max(total / 20).min(total / 4)))
    });
    let machine = Room {
        bytes: available.unwrap_or(0),
        reason: Reason::Machine,
    };
    let limit = cgroup::tightest_memory(root, &pid.path("cgroup"));
    let group = limit.ok().flatten().map(|limit| Room {
        bytes: limit.rest().get() + cgroup::inactive_cache(root, &limit).get(),
        reason: Reason::Group(limit.file.to_string()),
    });
    match group {
        Some(group) if group.bytes < machine.bytes => group,
        _ => machine,
    }
}

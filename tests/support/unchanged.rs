//! The running machine with an empty pool. Tests that change nothing share it.

use std::fs;

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::thp::Thp;
use hugetools_model::{Machine, PageSize};
use nix::fcntl::{Flock, FlockArg};

use super::live::{Live, can_be_set, live_root, lock, machine, skip};

/// The machine for a test that doesn't change it.
pub(crate) enum UnchangedMachine {
    /// The pool was empty already; other tests share the machine.
    Shared(Box<Found>),
    /// The pool was emptied for this test only.
    Emptied(Box<Live>),
}

/// The unchanged machine.
pub(crate) struct Found {
    machine: Machine,
    /// A shared lock.
    _lock: Flock<fs::File>,
}

/// Returns the machine with an empty pool of the default size, or reports a skipped test.
pub(crate) fn without_pool(test: &str) -> Option<UnchangedMachine> {
    if !can_be_set(test) {
        return None;
    }
    let found = Found {
        _lock: lock(FlockArg::LockShared),
        machine: Machine::read(&live_root()).unwrap(),
    };
    if is_empty(&found.machine) {
        return Some(UnchangedMachine::Shared(Box::new(found)));
    }
    drop(found);
    let live = machine(test)?;
    live.set_pool(0);
    Some(UnchangedMachine::Emptied(Box::new(live)))
}

/// Returns the machine with an empty pool and THP, or reports a skipped test.
pub(crate) fn with_thp(test: &str) -> Option<UnchangedMachine> {
    let unchanged = without_pool(test)?;
    match unchanged.thp_serves() {
        true => Some(unchanged),
        false => skip(test, "transparent huge pages are off"),
    }
}

fn is_empty(machine: &Machine) -> bool {
    let has_none = |pool: &Pool| {
        pool.minimum().get() == 0 && pool.overcommit.is_none_or(|pages| pages.get() == 0)
    };
    let shmem = machine
        .thp
        .as_ref()
        .and_then(|thp| thp.shmem_enabled.as_deref());
    machine.default_pool().is_some_and(has_none) && shmem.is_none_or(|word| word == "never")
}

impl UnchangedMachine {
    /// Returns the default huge page size.
    pub(crate) fn default_size(&self) -> PageSize {
        match self {
            UnchangedMachine::Shared(found) => found.machine.default_pool().unwrap().size,
            UnchangedMachine::Emptied(live) => live.default_size(),
        }
    }

    /// Whether private memory can use transparent huge pages.
    pub(crate) fn thp_serves(&self) -> bool {
        match self {
            UnchangedMachine::Shared(found) => {
                found.machine.thp.as_ref().is_some_and(Thp::serves_madvise)
            }
            UnchangedMachine::Emptied(live) => live.thp_serves(),
        }
    }
}

//! The running machine with an empty pool, shared by tests that don't change it.

use std::fs;

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::thp::Thp;
use hugetools_model::{Machine, PageSize};
use nix::fcntl::{Flock, FlockArg};

use super::live::{Live, can_be_set, live_root, lock, machine, skip};

/// The machine with an empty pool of the default size.
pub(crate) enum UnchangedMachine {
    /// The pool was empty; other tests may use the machine at the same time.
    Shared(Box<SharedMachine>),
    /// The pool was emptied for this test only.
    Emptied(Box<Live>),
}

/// The machine as found.
pub(crate) struct SharedMachine {
    machine: Machine,
    /// Shared with other tests.
    _lock: Flock<fs::File>,
}

/// Returns the machine with an empty pool of the default size, or reports a skipped test.
pub(crate) fn without_pool(test: &str) -> Option<UnchangedMachine> {
    if !can_be_set(test) {
        return None;
    }
    let found = SharedMachine {
        _lock: lock(FlockArg::LockShared),
        machine: Machine::read(&live_root()).unwrap(),
    };
    if is_prepared(&found.machine) {
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

/// Whether the pool is empty and `shmem_enabled` is as [`machine`] sets it.
fn is_prepared(machine: &Machine) -> bool {
    let is_empty = |pool: &Pool| {
        pool.minimum().get() == 0 && pool.overcommit.is_none_or(|pages| pages.get() == 0)
    };
    let shmem = machine
        .thp
        .as_ref()
        .and_then(|thp| thp.shmem_enabled.as_deref());
    machine.default_pool().is_some_and(is_empty) && shmem.is_none_or(|word| word == "never")
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

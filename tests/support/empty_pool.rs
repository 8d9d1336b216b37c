//! The running machine with an empty pool. Tests share it if the pool is already empty.

use std::fs;

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::thp::Thp;
use hugetools_model::{Machine, PageSize};
use nix::fcntl::{Flock, FlockArg};

use super::live::{Live, can_be_set, live_root, lock, machine, skip};

/// The running machine with an empty pool of the default size.
pub(crate) enum EmptyPoolMachine {
    /// The pool was empty: other tests may use the machine at the same time.
    Shared(Box<SharedMachine>),
    /// The pool was emptied for this test, which has the machine alone.
    Emptied(Box<Live>),
}

/// The state of the machine and a shared lock.
pub(crate) struct SharedMachine {
    machine: Machine,
    _lock: Flock<fs::File>,
}

/// Returns the machine with an empty pool of the default size, or reports a skipped test.
pub(crate) fn empty_pool_machine(test: &str) -> Option<EmptyPoolMachine> {
    if !can_be_set(test) {
        return None;
    }
    let found = SharedMachine {
        _lock: lock(FlockArg::LockShared),
        machine: Machine::read(&live_root()).unwrap(),
    };
    if is_prepared(&found.machine) {
        return Some(EmptyPoolMachine::Shared(Box::new(found)));
    }
    drop(found);
    let live = machine(test)?;
    live.set_pool(0);
    Some(EmptyPoolMachine::Emptied(Box::new(live)))
}

/// Returns the machine with an empty pool and THP, or reports a skipped test.
pub(crate) fn thp_machine(test: &str) -> Option<EmptyPoolMachine> {
    let machine = empty_pool_machine(test)?;
    match machine.can_use_thp() {
        true => Some(machine),
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

impl EmptyPoolMachine {
    /// Returns the default huge page size.
    pub(crate) fn default_size(&self) -> PageSize {
        match self {
            EmptyPoolMachine::Shared(found) => found.machine.default_pool().unwrap().size,
            EmptyPoolMachine::Emptied(live) => live.default_size(),
        }
    }

    /// Whether private memory can use transparent huge pages.
    pub(crate) fn can_use_thp(&self) -> bool {
        match self {
            EmptyPoolMachine::Shared(found) => {
                found.machine.thp.as_ref().is_some_and(Thp::serves_madvise)
            }
            EmptyPoolMachine::Emptied(live) => live.can_use_thp(),
        }
    }
}

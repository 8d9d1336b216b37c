//! `--stats`: the kernel's counters of huge pages since boot and since the last
//! reading, and how many pages of each size could be allocated now.
//!
//! [`Snapshot::read`] reads the files; [`Stats`] is computed from snapshots without
//! I/O. Counters that this kernel lacks, or this user may not read, are `None`, never
//! 0.
//!
//! **Invariants.** A difference is only given for counters in both snapshots.

mod counters;
mod memory;
mod snapshot;
mod text;

use std::collections::BTreeMap;

use hugetools_model::PageSize;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::process::cgroup::refusals::Refusals;
use serde::{Serialize, Serializer};

pub use counters::names;
pub use memory::Memory;
pub use snapshot::Snapshot;
pub use text::text;

/// The output of `--stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Time since boot.
    pub since_boot: Option<Seconds>,
    /// Time since the last snapshot; `None` for the first.
    pub since_last: Option<Seconds>,
    /// The kernel's counters.
    pub events: Vec<Event>,
    /// Refusals by limits of control groups; `None` if the hugetlb controller is
    /// inactive or invisible.
    pub refused: Option<Vec<Event>>,
    /// Pages of each size (in bytes) that could be allocated now.
    pub available: BTreeMap<u64, Option<u64>>,
    /// The same by node.
    pub memory: Vec<Memory>,
    /// The state of the pools.
    pub promised: Vec<Promised>,
}

/// A time in hundredths of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(u64);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_precision_loss, reason = "exact for 2 million years")]
        to.serialize_f64(self.0 as f64 / 100.0)
    }
}

/// A counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The kernel's name.
    pub event: String,
    /// The page size of a per-size counter.
    pub size: Option<PageSize>,
    /// The file that contains it.
    pub file: String,
    /// The value since boot.
    pub boot: Option<u64>,
    /// The change since the last snapshot. Can be negative for counters of present
    /// pages.
    pub last: Option<i64>,
}

/// The state of a pool, and how far it can grow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promised {
    /// The page size.
    pub size: PageSize,
    /// All pages.
    pub total: u64,
    /// Free pages.
    pub free: u64,
    /// Free pages that are reserved.
    pub reserved: u64,
    /// Surplus pages that the kernel may still allocate; `None` for sizes without
    /// overcommit.
    pub may_grow: Option<u64>,
    /// Pages that could be allocated now.
    pub available: Option<u64>,
}

/// Computes the statistics of a snapshot, with differences to an earlier one.
pub fn stats(seen: &Snapshot, before: Option<&Snapshot>) -> Stats {
    let memory = memory::rows(seen);
    let available = memory::sums(&memory);
    let since_last = before.and_then(|before| seen.uptime?.checked_sub(before.uptime?));
    Stats {
        since_boot: seen.uptime.map(Seconds),
        since_last: since_last.map(Seconds),
        events: events(seen, before),
        refused: (seen.refusals.as_ref()).map(|now| refused(now, before)),
        promised: (seen.pools.iter())
            .map(|pool| promised(pool, &available))
            .collect(),
        available,
        memory,
    }
}

fn events(seen: &Snapshot, before: Option<&Snapshot>) -> Vec<Event> {
    let all = counters::all(&seen.thp_sizes);
    let event = |counter: counters::Counter| {
        let value = |seen: &Snapshot| counter.of(seen);
        let (boot, then) = (value(seen), before.and_then(value));
        Event {
            event: counter.name.to_owned(),
            size: counter.size,
            file: counter.file(),
            boot,
            last: boot.zip(then).map(|(now, then)| less(now, then)),
        }
    };
    all.map(event).collect()
}

/// A group that is missing in the earlier snapshot had no refusals then.
fn refused(now: &[Refusals], before: Option<&Snapshot>) -> Vec<Event> {
    let then = before.map(|before| before.refusals.as_deref().unwrap_or_default());
    let event = |now: &Refusals| Event {
        event: String::from("max"),
        size: Some(now.size),
        file: now.file.to_string(),
        boot: Some(now.count),
        last: then.map(|then| {
            let same = then.iter().find(|then| then.file == now.file);
            less(now.count, same.map_or(0, |same| same.count))
        }),
    };
    now.iter().map(event).collect()
}

fn promised(pool: &Pool, available: &BTreeMap<u64, Option<u64>>) -> Promised {
    Promised {
        size: pool.size,
        total: pool.total.get(),
        free: pool.free.get(),
        reserved: pool.reserved.get(),
        may_grow: (pool.overcommit).map(|most| most.saturating_sub(pool.surplus).get()),
        available: available.get(&pool.size.get()).copied().flatten(),
    }
}

fn less(now: u64, then: u64) -> i64 {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    number(now) - number(then)
}

#[cfg(test)]
mod tests;

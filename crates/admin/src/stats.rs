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
pub mod metrics;
mod snapshot;
mod text;

use std::collections::BTreeMap;

use hugetools_model::PageSize;
use serde::Serialize;

pub use counters::names;
pub use memory::Memory;
pub use snapshot::Snapshot;
pub use text::text;

/// The output of `--stats`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Seconds since boot.
    pub since_boot: Option<f64>,
    /// Seconds since the last snapshot; `None` for the first.
    pub since_last: Option<f64>,
    /// The kernel's counters.
    pub events: Vec<Event>,
    /// Pages of each size (in bytes) that could be allocated now.
    pub available: BTreeMap<u64, Option<u64>>,
    /// The same by node.
    pub memory: Vec<Memory>,
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

/// Computes the statistics of a snapshot, with differences to an earlier one.
pub fn stats(seen: &Snapshot, before: Option<&Snapshot>) -> Stats {
    let memory = memory::rows(seen);
    let since_last = before.and_then(|before| Some(seen.uptime? - before.uptime?));
    Stats {
        since_boot: seen.uptime,
        since_last,
        events: events(seen, before),
        available: memory::sums(&memory),
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

fn less(now: u64, then: u64) -> i64 {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    number(now) - number(then)
}

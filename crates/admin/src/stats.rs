//! `--stats`: the kernel's counters of huge pages since boot, and the pages of each size that could
//! be allocated now.
//!
//! [`Snapshot::read`] reads the files; [`Stats`] is computed from a snapshot without I/O.
//!
//! **Invariants.** A counter that is missing or unreadable is `None`, never 0.

mod counters;
mod memory;
pub mod metrics;
mod snapshot;
mod text;

use std::collections::BTreeMap;

use hugetools_model::PageSize;
use serde::Serialize;

pub use memory::Memory;
pub use snapshot::Snapshot;
pub use text::text;

/// The output of `--stats`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Seconds since boot.
    pub since_boot: Option<f64>,
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
    /// The value since boot; of `nr_` counters, the present value.
    pub boot: Option<u64>,
}

/// Computes the statistics of a snapshot.
pub fn stats(seen: &Snapshot) -> Stats {
    let memory = memory::rows(seen);
    let event = |counter: counters::Counter| Event {
        event: counter.name.to_owned(),
        size: counter.size,
        file: counter.file(),
        boot: counter.of(seen),
    };
    Stats {
        since_boot: seen.uptime,
        events: counters::all(&seen.thp_sizes).map(event).collect(),
        available: memory::sums(&memory),
        memory,
    }
}

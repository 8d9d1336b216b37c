//! What the kernel counts of huge pages since boot and since the last look, and how
//! many of each size could be had now.
//!
//! What is found (see [`Seen::read`]) becomes [`Stats`] without input or output. What
//! this kernel does not count, or does not tell this user, is `None`: never 0.
//!
//! **Invariants.** A difference is told of what both looks have found, and of nothing else.

mod known;
mod look;
mod memory;
mod text;

use std::collections::BTreeMap;

use hugetools_model::PageSize;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::process::cgroup::refusals::Refusals;
use serde::{Serialize, Serializer};

pub use known::names;
pub use look::Seen;
pub use memory::Memory;
pub use text::text;

/// What is said with `--stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// How long the system has run.
    pub since_boot: Option<Seconds>,
    /// How long ago the last look was; `None` for the first.
    pub since_last: Option<Seconds>,
    /// What is counted.
    pub events: Vec<Event>,
    /// What limits of control groups have refused; `None` where the controller is not
    /// at work, or not to be seen.
    pub refused: Option<Vec<Event>>,
    /// Pages of each size, in bytes, that could be had now.
    pub available: BTreeMap<u64, Option<u64>>,
    /// The same by node.
    pub memory: Vec<Memory>,
    /// What the pools have promised.
    pub promised: Vec<Promised>,
}

/// A time, in hundredths of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(u64);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_precision_loss, reason = "exact for 2 million years")]
        to.serialize_f64(self.0 as f64 / 100.0)
    }
}

/// Something that is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The kernel's name of it.
    pub event: String,
    /// The page size, where each has a counter of its own.
    pub size: Option<PageSize>,
    /// The file that tells it.
    pub file: String,
    /// How often, since boot.
    pub boot: Option<u64>,
    /// How often since the last look; for what is there now, how many more.
    pub last: Option<i64>,
}

/// What a pool has, and may still want of the page allocator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promised {
    /// The size of its pages.
    pub size: PageSize,
    /// All its pages.
    pub total: u64,
    /// Those that nobody uses.
    pub free: u64,
    /// Those of the free ones that are promised.
    pub reserved: u64,
    /// How many more the kernel may make on demand; `None` for sizes that have no such
    /// limit.
    pub may_grow: Option<u64>,
    /// How many more could be had now.
    pub available: Option<u64>,
}

/// What there is to say at a moment, some time after another.
pub fn stats(seen: &Seen, before: Option<&Seen>) -> Stats {
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

fn events(seen: &Seen, before: Option<&Seen>) -> Vec<Event> {
    let all = known::all(&seen.thp_sizes);
    let event = |counter: known::Counter| {
        let value = |seen: &Seen| counter.of(seen);
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

/// A group that had refused nothing the last time was not there.
fn refused(now: &[Refusals], before: Option<&Seen>) -> Vec<Event> {
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

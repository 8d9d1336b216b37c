//! Results of runs.

use super::stats;
use super::way::Way;

/// One run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome {
    /// Wall time.
    pub(crate) seconds: f64,
    /// CPU time.
    pub(crate) cpu: f64,
    /// Minor page faults.
    pub(crate) faults: u64,
    /// Standard output.
    pub(crate) output: String,
    pub(crate) memory: Memory,
}

/// The memory of a run, each figure at its peak, in kB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Memory {
    /// Page tables.
    pub(crate) tables: u64,
    /// Resident memory including pool pages.
    pub(crate) peak: u64,
    /// Pool pages.
    pub(crate) pool: u64,
    /// Anonymous memory at its peak, and the part of it on huge pages.
    pub(crate) anonymous: u64,
    pub(crate) huge: u64,
}

impl Memory {
    /// Returns the maximum of each figure. `anonymous` and `huge` stay together.
    pub(crate) fn join(self, other: Memory) -> Memory {
        let larger = if other.anonymous > self.anonymous {
            other
        } else {
            self
        };
        Memory {
            tables: self.tables.max(other.tables),
            peak: self.peak.max(other.peak),
            pool: self.pool.max(other.pool),
            ..larger
        }
    }

    /// Returns the part of the anonymous memory on huge pages; `None` if it was not read.
    pub(crate) fn share(self) -> Option<f64> {
        let kib = |kib: u64| u32::try_from(kib).map_or(f64::INFINITY, f64::from);
        (self.anonymous > 0).then(|| kib(self.huge) / kib(self.anonymous))
    }
}

/// A way to run a workload: its rounds, or why it did not run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) way: Way,
    pub(crate) result: Result<Rounds, String>,
}

/// All rounds of a way.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Rounds {
    pub(crate) seconds: Vec<f64>,
    pub(crate) cpu: Vec<f64>,
    pub(crate) faults: Vec<f64>,
    /// The maximum of all rounds.
    pub(crate) memory: Memory,
}

impl Rounds {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.seconds.push(outcome.seconds);
        self.cpu.push(outcome.cpu);
        let faults = u32::try_from(outcome.faults).unwrap_or(u32::MAX);
        self.faults.push(f64::from(faults));
        self.memory = self.memory.join(outcome.memory);
    }
}

/// All ways of a workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// Its name on the command line.
    pub(crate) name: String,
    /// Description, size and libc.
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

impl Block {
    /// Returns the ratio of a way's time to the plain way's.
    pub(crate) fn ratio(&self, rounds: &Rounds) -> Option<f64> {
        let plain = self.rows.iter().find(|row| row.way == Way::Plain)?;
        stats::ratio(&rounds.seconds, &plain.result.as_ref().ok()?.seconds)
    }
}

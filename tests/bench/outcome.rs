//! What was measured.

use super::stats;
use super::way::Way;

/// One run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome {
    /// From its start to its end.
    pub(crate) seconds: f64,
    /// Of a processor.
    pub(crate) cpu: f64,
    /// Page faults without I/O.
    pub(crate) faults: u64,
    /// What it printed.
    pub(crate) output: String,
    pub(crate) memory: Memory,
}

/// The memory of a run, each figure at its highest, in kB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Memory {
    /// Page tables.
    pub(crate) tables: u64,
    /// Resident, with pages of pools.
    pub(crate) peak: u64,
    /// Pages of pools.
    pub(crate) pool: u64,
    /// Anonymous memory at the moment when there was most of it, and how much
    /// of it was on huge pages.
    pub(crate) anonymous: u64,
    pub(crate) huge: u64,
}

impl Memory {
    /// The higher of each; what belongs together stays together.
    pub(crate) fn join(self, other: Memory) -> Memory {
        let look = if other.anonymous > self.anonymous {
            other
        } else {
            self
        };
        Memory {
            tables: self.tables.max(other.tables),
            peak: self.peak.max(other.peak),
            pool: self.pool.max(other.pool),
            ..look
        }
    }

    /// Which part of the anonymous memory was on huge pages; `None` where
    /// nobody looked.
    pub(crate) fn share(self) -> Option<f64> {
        let kib = |kib: u64| u32::try_from(kib).map_or(f64::INFINITY, f64::from);
        (self.anonymous > 0).then(|| kib(self.huge) / kib(self.anonymous))
    }
}

/// A way to run a workload, or why it could not be run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) way: Way,
    pub(crate) result: Result<Cell, String>,
}

/// All rounds of a way.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Cell {
    /// One to a round.
    pub(crate) seconds: Vec<f64>,
    pub(crate) cpu: Vec<f64>,
    pub(crate) faults: Vec<f64>,
    /// The highest of all.
    pub(crate) memory: Memory,
}

impl Cell {
    /// Adds a round.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.seconds.push(outcome.seconds);
        self.cpu.push(outcome.cpu);
        let faults = u32::try_from(outcome.faults).unwrap_or(u32::MAX);
        self.faults.push(f64::from(faults));
        self.memory = self.memory.join(outcome.memory);
    }
}

/// A workload, all ways of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// Its name on the command line.
    pub(crate) name: String,
    /// What it is, how large, and which libc.
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

impl Block {
    /// How a way compares with the program as it is.
    pub(crate) fn ratio(&self, cell: &Cell) -> Option<f64> {
        let plain = self.rows.iter().find(|row| row.way == Way::Plain)?;
        stats::ratio(&cell.seconds, &plain.result.as_ref().ok()?.seconds)
    }
}

/// Saving in the background, in one way.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Save {
    /// Each the median of all rounds. Milliseconds that the fork took.
    pub(crate) fork_ms: f64,
    /// The slowest request before and meanwhile, in milliseconds.
    pub(crate) slowest_before_ms: f64,
    pub(crate) slowest_ms: f64,
    /// Requests in a second meanwhile.
    pub(crate) requests: f64,
    /// How long it took.
    pub(crate) seconds: f64,
    /// kB of the server before, and of both at the highest.
    pub(crate) before: f64,
    pub(crate) peak: f64,
    /// Which part of the server's memory was on huge pages before and after.
    pub(crate) huge_before: f64,
    pub(crate) huge_after: f64,
}

/// A row of the second table.
pub(crate) type SaveRow = (&'static str, Result<Save, String>);

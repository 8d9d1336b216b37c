//! The result of a comparison.

use crate::memory::Memory;
use crate::program::Run;
use crate::settings::Settings;
use crate::stats::{self, Ratio};
use crate::way::Way;

/// The progress of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Complete rounds.
    pub rounds: u32,
    /// The widest interval; `None` while a way has no ratio.
    pub width: Option<f64>,
}

/// The result.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The ways, in the order of the request.
    pub ways: Vec<WayResult>,
    /// Why the result may mislead.
    pub doubts: Vec<String>,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// What is compared.
    pub value: Value,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Wall time of the program or the driver, in seconds.
    WallTime,
    /// CPU seconds, on a machine with other load.
    CpuTime,
    /// The program's own figure.
    Metric,
}

impl Value {
    /// Chooses the value. Wall time needs an idle machine: otherwise it measures the other load.
    pub(crate) fn choose(settings: &Settings, is_busy: bool) -> Value {
        match (&settings.metric, &settings.server) {
            (Some(_), _) => Value::Metric,
            (None, None) if is_busy => Value::CpuTime,
            _ => Value::WallTime,
        }
    }

    pub(crate) fn of(self, run: &Run) -> f64 {
        match self {
            Value::WallTime => run.seconds,
            Value::CpuTime => (run.usage.user + run.usage.system).as_secs_f64(),
            Value::Metric => run.metric.unwrap_or(0.0),
        }
    }
}

/// A way and its runs.
#[derive(Debug, Clone)]
pub struct WayResult {
    /// The way.
    pub way: Way,
    /// The compared values, one per round.
    pub values: Vec<f64>,
    /// The ratio to plain; `None` for plain itself, or where [`Ratio::of`] has none.
    pub ratio: Option<Ratio>,
    pub(crate) runs: Vec<Run>,
    pub(crate) memory: Memory,
    /// A warning of hugectl or its libraries about this way.
    pub(crate) warning: Option<String>,
}

impl WayResult {
    pub(crate) fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        stats::mean(&self.runs.iter().map(of).collect::<Vec<f64>>())
    }
}

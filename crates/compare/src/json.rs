//! The result as JSON; hugetools-json(7) describes it.

use serde::Serialize;

use crate::result::{Compared, Comparison};
use crate::stats::{mean, median};
use crate::table::{faults, word};

/// The result; the caller adds the head.
#[derive(Debug, Serialize)]
pub struct Ways {
    ways: Vec<Way>,
    doubts: Vec<String>,
}

/// Times are seconds, memory is bytes.
#[derive(Debug, Serialize)]
struct Way {
    way: String,
    command: String,
    rounds: usize,
    values: Vec<f64>,
    median: f64,
    mean: f64,
    low: f64,
    high: f64,
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    verdict: Option<&'static str>,
    user: f64,
    system: f64,
    faults: f64,
    page_tables: u64,
    peak: u64,
    huge: u64,
    resident: u64,
    warning: Option<String>,
}

impl Ways {
    /// Returns the result. `program` is what the user typed.
    pub fn of(comparison: &Comparison, program: &str) -> Ways {
        let way = |way: &Compared| way_of(comparison, way, program);
        Ways {
            ways: comparison.ways.iter().map(way).collect(),
            doubts: comparison.doubts.clone(),
        }
    }
}

fn way_of(comparison: &Comparison, way: &Compared, program: &str) -> Way {
    let values = || way.values.iter().copied();
    Way {
        way: way.way.name.clone(),
        command: way.way.shown(program),
        rounds: way.values.len(),
        values: way.values.clone(),
        median: median(&way.values),
        mean: mean(&way.values),
        low: values().reduce(f64::min).unwrap_or(0.0),
        high: values().reduce(f64::max).unwrap_or(0.0),
        ratio: way.ratio.map(|ratio| ratio.ratio),
        ratio_low: way.ratio.map(|ratio| ratio.low),
        ratio_high: way.ratio.map(|ratio| ratio.high),
        verdict: way
            .ratio
            .map(|ratio| word(comparison, ratio).unwrap_or("no difference")),
        user: way.mean(|run| run.usage.user.as_secs_f64()),
        system: way.mean(|run| run.usage.system.as_secs_f64()),
        faults: way.mean(faults),
        page_tables: way.memory.tables,
        peak: way.memory.peak,
        huge: way.memory.huge,
        resident: way.memory.resident,
        warning: way.warning.clone(),
    }
}

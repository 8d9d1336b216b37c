//! The result as JSON, as described in hugetools-json(7).

use serde::Serialize;

use crate::result::{Comparison, WayResult};
use crate::stats::{mean, median};
use crate::table::{fault_count, speed_word};

/// The fields of the result. The caller adds those that all documents have.
#[derive(Debug, Serialize)]
pub struct ComparisonJson {
    ways: Vec<WayJson>,
    doubts: Vec<String>,
}

/// `values` to `high` are seconds, or the metric. Other times are seconds, memory is bytes.
#[derive(Debug, Serialize)]
struct WayJson {
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

impl ComparisonJson {
    /// Converts the result. `program` is the command line of the user.
    pub fn of(comparison: &Comparison, program: &str) -> ComparisonJson {
        let way = |way: &WayResult| way_json(comparison, way, program);
        ComparisonJson {
            ways: comparison.ways.iter().map(way).collect(),
            doubts: comparison.doubts.clone(),
        }
    }
}

fn way_json(comparison: &Comparison, way: &WayResult, program: &str) -> WayJson {
    let values = || way.values.iter().copied();
    WayJson {
        way: way.way.name.clone(),
        command: way.way.command_line(program),
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
            .map(|ratio| speed_word(comparison, ratio).unwrap_or("no difference")),
        user: way.mean(|run| run.usage.user.as_secs_f64()),
        system: way.mean(|run| run.usage.system.as_secs_f64()),
        faults: way.mean(fault_count),
        page_tables: way.memory.tables,
        peak: way.memory.peak,
        huge: way.memory.huge,
        resident: way.memory.resident,
        warning: way.warning.clone(),
    }
}

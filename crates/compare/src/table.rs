//! Formats the result as text. The table has 80 columns.

use std::fmt::{self, Write};

use crate::program::Run;
use crate::result::{Comparison, Value, WayResult};
use crate::stats::{Ratio, median};

/// Widths of the columns; the first is aligned to the left.
const WIDTHS: [usize; 9] = [9, 10, 15, 9, 8, 8, 8, 7, 6];

/// Returns the result as text. `program` is the command line of the user.
pub fn text(comparison: &Comparison, program: &str) -> String {
    let mut text = String::new();
    let written = write(comparison, program, &mut text);
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    text
}

fn write(comparison: &Comparison, program: &str, to: &mut String) -> fmt::Result {
    let value = match comparison.value {
        Value::WallTime => "seconds",
        Value::CpuTime => "CPU s",
        Value::Metric => "metric",
    };
    let names = [
        "way", value, "ratio", "user s", "sys s", "faults", "tables", "peak", "huge",
    ];
    line(to, names.map(str::to_owned))?;
    for way in &comparison.ways {
        line(to, cells(way))?;
    }
    let rounds = comparison.ways.first().map_or(0, |way| way.values.len());
    writeln!(
        to,
        "Medians of {rounds} rounds, means of user, sys and faults; tables and peak in MB.\n\
         The ratio is to plain, with its interval of 99 %.\n"
    )?;
    for way in comparison.ways.iter().skip(1) {
        writeln!(to, "{}: {}", way.way.name, verdict(comparison, way))?;
        if let Some(warning) = &way.warning {
            writeln!(to, "  {warning}")?;
        }
    }
    for doubt in &comparison.doubts {
        writeln!(to, "Doubt: {doubt}.")?;
    }
    if comparison.interrupted {
        writeln!(to, "Interrupted by a signal: these are the results so far.")?;
    }
    match best(comparison) {
        Some(best) => writeln!(to, "Use: {}", best.way.command_line(program)),
        None if comparison.ways.iter().all(|way| way.ratio.is_none()) => {
            writeln!(
                to,
                "No verdict: it takes at least five rounds of values above 0."
            )
        }
        None => writeln!(to, "Use: {program} as it is"),
    }
}

fn line(to: &mut String, cells: [String; 9]) -> fmt::Result {
    for (at, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        match at {
            0 => write!(to, "{cell:width$}")?,
            _ => write!(to, "{cell:>width$}")?,
        }
    }
    to.push('\n');
    Ok(())
}

fn cells(way: &WayResult) -> [String; 9] {
    let memory = way.memory;
    // A short program may end before the first sample.
    let sampled = |cell: String| match memory.resident {
        0 => "-".to_owned(),
        _ => cell,
    };
    [
        way.way.name.chars().take(WIDTHS[0]).collect(),
        number(median(&way.values)),
        way.ratio.map_or_else(|| "1".to_owned(), interval),
        number(way.mean(|run| run.usage.user.as_secs_f64())),
        number(way.mean(|run| run.usage.system.as_secs_f64())),
        number(way.mean(fault_count)),
        sampled(megabytes(memory.tables)),
        sampled(megabytes(memory.peak)),
        sampled(format!("{}%", memory.share())),
    ]
}

pub(crate) fn fault_count(run: &Run) -> f64 {
    f64::from(u32::try_from(run.usage.faults).unwrap_or(u32::MAX))
}

fn interval(ratio: Ratio) -> String {
    let half = (ratio.high - ratio.low) / 2.0;
    format!("{:.3} ±{half:.3}", ratio.ratio)
}

/// Formats a number with about four digits.
fn number(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.3}"),
        ..100.0 => format!("{value:.2}"),
        ..1e5 => format!("{value:.0}"),
        ..1e7 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.0}M", value / 1e6),
    }
}

fn megabytes(bytes: u64) -> String {
    number(f64::from(u32::try_from(bytes >> 10).unwrap_or(u32::MAX)) / 1024.0)
}

/// Returns `faster`, `slower`, or `None` if the interval of the ratio contains 1.
pub(crate) fn speed_word(comparison: &Comparison, ratio: Ratio) -> Option<&'static str> {
    let is_faster = |below: bool| below != comparison.higher_is_better;
    match (ratio.high < 1.0, ratio.low > 1.0) {
        (false, false) => None,
        (is_below, _) if is_faster(is_below) => Some("faster"),
        _ => Some("slower"),
    }
}

fn verdict(comparison: &Comparison, way: &WayResult) -> String {
    let Some(found) = way.ratio else {
        return match way.values.len() < 5 {
            true => "too few rounds for a verdict".to_owned(),
            false => "no ratio: a value is 0 or negative".to_owned(),
        };
    };
    let percent = |value: f64| (value - 1.0).abs() * 100.0;
    match speed_word(comparison, found) {
        None => format!(
            "no difference seen (between {:+.1} and {:+.1} %)",
            (found.low - 1.0) * 100.0,
            (found.high - 1.0) * 100.0
        ),
        Some(word) => {
            let (low, high) = (percent(found.low), percent(found.high));
            format!(
                "{word} by {:.1} % (between {:.1} and {:.1} %)",
                percent(found.ratio),
                low.min(high),
                low.max(high)
            )
        }
    }
}

fn best(comparison: &Comparison) -> Option<&WayResult> {
    let faster = comparison.ways.iter().filter(|way| {
        way.ratio
            .is_some_and(|ratio| speed_word(comparison, ratio) == Some("faster"))
    });
    let gain = |way: &WayResult| way.ratio.map_or(0.0, |ratio| ratio.ratio.ln().abs());
    faster.max_by(|a, b| gain(a).total_cmp(&gain(b)))
}

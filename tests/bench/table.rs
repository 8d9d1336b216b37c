//! The results as a table.

use super::outcome::{Block, Rounds, Row};
use super::stats;

const NONE: &str = "-";

pub(crate) fn text(blocks: &[Block]) -> String {
    let rows = blocks.iter().flat_map(|block| &block.rows);
    let rounds = rows.filter_map(|row| Some(row.result.as_ref().ok()?.seconds.len()));
    let rounds = rounds.max().unwrap_or(0);
    let head = format!(
        "Wall time: median and interquartile range of {rounds} rounds; ratio to plain. Page \
         tables, peak and pool at their maximum; huge: part of the anonymous memory at its \
         peak.\n\n"
    );
    let names = [
        "",
        "seconds",
        "spread",
        "ratio",
        "cpu s",
        "faults",
        "tables kB",
        "peak MB",
        "pool MB",
        "huge",
    ];
    let mut lines = vec![names.map(str::to_owned).to_vec()];
    for block in blocks {
        lines.push(vec![String::new()]);
        lines.push(vec![format!("{}: {}", block.name, block.title)]);
        lines.extend(block.rows.iter().map(|row| line(block, row)));
    }
    head + &columns(&lines)
}

fn line(block: &Block, row: &Row) -> Vec<String> {
    match &row.result {
        Ok(rounds) => figures(block, row, rounds),
        Err(why) => vec![format!("  {}: not run: {why}", row.way.name())],
    }
}

fn figures(block: &Block, row: &Row, rounds: &Rounds) -> Vec<String> {
    let memory = rounds.memory;
    vec![
        format!("  {}", row.way.name()),
        number(stats::median(&rounds.seconds), 3),
        percent(stats::spread(&rounds.seconds)),
        number(block.ratio(rounds), 2),
        number(stats::median(&rounds.cpu), 2),
        number(stats::median(&rounds.faults), 0),
        memory.tables.to_string(),
        (memory.peak >> 10).to_string(),
        (memory.pool >> 10).to_string(),
        percent(memory.share()),
    ]
}

fn number(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.places$}"))
}

fn percent(value: Option<f64>) -> String {
    let text = |value| format!("{:.0} %", value * 100.0);
    value.map_or_else(|| NONE.to_owned(), text)
}

/// Aligns the first column to the left, the others to the right. A line of one cell stays as
/// it is.
fn columns(lines: &[Vec<String>]) -> String {
    let places = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |place: usize| {
        let full = lines.iter().filter(|line| line.len() > 1);
        let widths = full
            .filter_map(|line| line.get(place))
            .map(|word| word.chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..places).map(width).collect();
    lines
        .iter()
        .map(|line| aligned(line, &widths) + "\n")
        .collect()
}

fn aligned(line: &[String], widths: &[usize]) -> String {
    if let [only] = line {
        return only.clone();
    }
    let cells = line.iter().zip(widths).enumerate();
    let cells = cells.map(|(place, (word, &width))| match place {
        0 => format!("{word:width$}"),
        _ => format!("{word:>width$}"),
    });
    cells.collect::<Vec<_>>().join("  ")
}

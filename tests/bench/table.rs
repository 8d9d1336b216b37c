//! The two tables, as text.

use super::outcome::{Block, Cell, Row, Save, SaveRow};
use super::stats;
use super::way::Way;

const NONE: &str = "-";

/// The first: ways side by side, one workload below the other.
pub(crate) fn ways(blocks: &[Block]) -> String {
    let rows = blocks.iter().flat_map(|block| &block.rows);
    let cells = rows.filter_map(|row| row.result.as_ref().ok());
    let rounds = cells.map(|cell| cell.seconds.len()).max().unwrap_or(0);
    let mut out = format!(
        "Wall time: median and quartile spread of {rounds} rounds; ratio to plain; \
         memory is touched before each run; page tables, peak and pages of the pool at their highest; \
         huge: part of the anonymous memory when there was most of it.\n\n"
    );
    let mut lines = vec![words(&[
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
    ])];
    for block in blocks {
        lines.push(vec![String::new()]);
        lines.push(vec![format!("{}: {}", block.name, block.title)]);
        lines.extend(block.rows.iter().map(|row| line(block, row)));
    }
    out += &columns(&lines);
    out + &notes(blocks)
}

/// Which ways had a pool and took little of it, or nothing.
fn notes(blocks: &[Block]) -> String {
    let note = |way: &Way| {
        let all = blocks.iter().filter_map(|block| sparing(block, *way));
        let names: Vec<String> = all.collect();
        match names.is_empty() {
            true => String::new(),
            false => format!(
                "{} had less than half of it in the pool: {}\n",
                way.name(),
                names.join(", ")
            ),
        }
    };
    let notes: String = Way::ALL
        .iter()
        .filter(|way| way.needs_pool())
        .map(note)
        .collect();
    if notes.is_empty() {
        notes
    } else {
        format!("\n{notes}")
    }
}

/// The name of a workload that took less than half of its memory from the
/// pool, with the MB.
fn sparing(block: &Block, way: Way) -> Option<String> {
    let row = block.rows.iter().find(|row| row.way == way)?;
    let memory = row.result.as_ref().ok()?.memory;
    let sparing = memory.pool < memory.peak / 2;
    sparing.then(|| {
        format!(
            "{} ({} of {} MB)",
            block.name,
            memory.pool >> 10,
            memory.peak >> 10
        )
    })
}

fn line(block: &Block, row: &Row) -> Vec<String> {
    match &row.result {
        Ok(cell) => figures(block, row, cell),
        Err(why) => vec![format!("  {}: not run: {why}", row.way.name())],
    }
}

fn figures(block: &Block, row: &Row, cell: &Cell) -> Vec<String> {
    let memory = cell.memory;
    vec![
        format!("  {}", row.way.name()),
        number(stats::median(&cell.seconds), 3),
        percent(stats::spread(&cell.seconds)),
        number(block.ratio(cell), 2),
        number(stats::median(&cell.cpu), 2),
        number(stats::median(&cell.faults), 0),
        memory.tables.to_string(),
        (memory.peak >> 10).to_string(),
        (memory.pool >> 10).to_string(),
        percent(memory.share()),
    ]
}

/// The second: saving in the background.
pub(crate) fn saves(rows: &[SaveRow], title: &str) -> String {
    let mut lines = vec![
        words(&[
            "",
            "before MB",
            "peak MB",
            "fork ms",
            "slowest ms",
            "(before)",
            "requests/s",
            "save s",
            "huge",
            "(after)",
        ]),
        vec![String::new()],
        vec![format!("bgsave: {title}")],
    ];
    for (name, result) in rows {
        lines.push(match result {
            Ok(save) => save_figures(name, save),
            Err(why) => vec![format!("  {name}: not run: {why}")],
        });
    }
    columns(&lines)
}

fn save_figures(name: &str, save: &Save) -> Vec<String> {
    vec![
        format!("  {name}"),
        number(Some(save.before / 1024.0), 0),
        number(Some(save.peak / 1024.0), 0),
        number(Some(save.fork_ms), 2),
        number(Some(save.slowest_ms), 2),
        number(Some(save.slowest_before_ms), 2),
        number(Some(save.requests), 0),
        number(Some(save.seconds), 2),
        percent(Some(save.huge_before)),
        percent(Some(save.huge_after)),
    ]
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn number(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.places$}"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(
        || NONE.to_owned(),
        |value| format!("{:.0} %", value * 100.0),
    )
}

/// The first column to the left, the others to the right. A line of one word
/// takes no part.
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
    let mut out = String::new();
    for line in lines {
        out += &aligned(line, &widths);
        out.push('\n');
    }
    out
}

fn aligned(line: &[String], widths: &[usize]) -> String {
    let [only] = line else {
        let cells = line.iter().zip(widths).enumerate();
        let cells = cells.map(|(place, (word, &width))| match place {
            0 => format!("{word:width$}"),
            _ => format!("{word:>width$}"),
        });
        return cells.collect::<Vec<_>>().join("  ");
    };
    only.clone()
}

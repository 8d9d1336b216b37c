//! The explanation as text: the program, a table, the shortfalls, the notes.

use std::fmt::Write;

use hugetools_model::Bytes;

use super::{Explained, Line};
use crate::plan::{Required, Row, Rung};
use crate::say::amount::Amount;
use crate::say::shortfall::Shortfall;

pub(super) fn whole(explained: &Explained) -> String {
    let mut text = String::new();
    if let Some(description) = &explained.description {
        let known = explained.program.as_ref().and_then(|program| program.known);
        let known = known.map(|name| format!(" ({name})")).unwrap_or_default();
        let _ = writeln!(text, "{description}{known}.");
    }
    if !explained.segments.is_empty() {
        text += "\n";
        text += &table(&explained.segments);
    }
    if !explained.required.is_empty() {
        text += "\nWhat is required:\n";
    }
    for required in &explained.required {
        let _ = writeln!(text, "* {required}");
    }
    for error in &explained.head.errors {
        let _ = write!(text, "\n{error}\n");
    }
    let is_refused = explained.required.iter().any(Required::is_refused);
    let is_met = explained.head.errors.is_empty() && !is_refused;
    text += match explained.shortfalls.len() {
        0 if is_met => "\nNothing falls short.\n",
        0 => "",
        _ => "\nWhat falls short:\n",
    };
    for (number, short) in (1..).zip(&explained.shortfalls) {
        text += &numbered(number, short);
    }
    let others = explained.head.warnings.iter().chain(&explained.notes);
    let others: Vec<&String> = others.collect();
    if !others.is_empty() {
        text += "\nGood to know:\n";
    }
    for other in others {
        let _ = writeln!(text, "* {}", indented(other, 2));
    }
    text
}

fn table(rows: &[Line]) -> String {
    let head = ["segment", "asked", "gets", "pages", "bytes"].map(str::to_owned);
    let lines: Vec<[String; 5]> = std::iter::once(head)
        .chain(rows.iter().map(|line| cells(&line.row)))
        .collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(String::len).max().unwrap_or(0)
    };
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().enumerate();
        let cells: Vec<String> = cells
            .map(|(column, cell)| format!("{cell:<width$}", width = width(column)))
            .collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

fn cells(row: &Row) -> [String; 5] {
    let pages = row.pages.iter();
    let pages = pages.map(|(size, count)| format!("{count} of {}", Bytes::new(*size)));
    let pages: Vec<String> = pages.collect();
    let bytes = match row.bytes {
        Some(bytes) => {
            let most = if row.at_most { "at most " } else { "" };
            format!("{most}{}", Amount(Bytes::new(bytes)))
        }
        None if row.object.is_some() => "-".to_owned(),
        None if row.whole => "each whole, or none".to_owned(),
        None => "as it grows".to_owned(),
    };
    let gets = match row.rung {
        Some(Rung::Pool) => "pool",
        Some(Rung::Thp) => "transparent",
        Some(Rung::File) => "file's own",
        Some(Rung::Base) => "base",
        Some(Rung::None) => "none",
        None => "unknown",
    };
    let pages = match pages.is_empty() {
        true => "-".to_owned(),
        false => pages.join(", "),
    };
    [
        row.segment.name().to_owned(),
        row.asked.clone(),
        gets.to_owned(),
        pages,
        bytes,
    ]
}

fn numbered(number: usize, short: &Shortfall) -> String {
    let mut text = format!("\n{number}. {}\n", indented(&short.fact, 3));
    if let Some(then) = &short.then {
        let _ = writeln!(text, "   {}", indented(then, 3));
    }
    if let (Some(file), Some(value)) = (&short.file, &short.value) {
        let _ = writeln!(text, "   {file}: {}", indented(value, 3));
    }
    let command = short.command().unwrap_or("no remedy known");
    let _ = writeln!(text, "   -> {}", indented(command, 6));
    text
}

/// Indents all lines but the first.
fn indented(text: &str, by: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    lines.join(&format!("\n{:by$}", ""))
}

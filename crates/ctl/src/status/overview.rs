//! The status of several processes, and their sum.

use std::fmt::Write;

use hugetools_contract::report::{self, Tenths};
use hugetools_model::Head;
use serde::Serialize;

use super::Snapshot;

/// Formats a table per process and a line with the sum, or one JSON document. Each element of
/// `processes` has the fields of a single process.
pub fn overview(snapshots: &[Snapshot], warnings: &[String], json: bool) -> String {
    let mut text = String::new();
    let written = match json {
        true => write_json(&mut text, snapshots, warnings),
        false => write_tables(&mut text, snapshots),
    };
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    text
}

fn write_json(text: &mut String, snapshots: &[Snapshot], warnings: &[String]) -> std::fmt::Result {
    report::write_head(text, warnings.iter().map(String::as_bytes))?;
    text.push_str(",\"processes\":[");
    for (index, snapshot) in snapshots.iter().enumerate() {
        text.push_str(if index > 0 { ",{" } else { "{" });
        snapshot.proof(&snapshot.rows()).write_body(text)?;
        text.push('}');
    }
    text.push_str("]}\n");
    Ok(())
}

fn write_tables(text: &mut String, snapshots: &[Snapshot]) -> std::fmt::Result {
    let (mut resident, mut huge) = (0, 0);
    for snapshot in snapshots {
        writeln!(text, "{}", snapshot.to_text(false))?;
        for row in snapshot.rows() {
            resident += row.resident;
            huge += row.huge_bytes();
        }
    }
    let share = Tenths::of(huge, resident);
    let processes = match snapshots.len() {
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    let (resident, huge) = (resident / 1024, huge / 1024);
    writeln!(
        text,
        "{processes}: {resident} kB resident, {huge} kB huge, {share}%; shared pages are counted for each process"
    )
}

#[derive(Debug, Serialize)]
struct Document<'a, T> {
    #[serde(flatten)]
    head: &'a Head,
    processes: &'a [T],
}

/// Formats several processes as one line of JSON.
pub fn document<T: Serialize>(head: &Head, processes: &[T]) -> String {
    let document = Document { head, processes };
    serde_json::to_string(&document).unwrap_or_default() + "\n"
}

//! Several processes, one after the other, and their sum.

use std::fmt::Write;

use hugetools_contract::report::{self, Tenths};

use super::Snapshot;

/// Tables with a last line for the sum, or one JSON document whose `processes` have the
/// fields of a single process.
pub fn overview(snapshots: &[Snapshot], warnings: &[String], json: bool) -> String {
    match json {
        true => document(snapshots, warnings, |text, snapshot| {
            text.push('{');
            snapshot.proof(&snapshot.rows()).write_body(text)?;
            text.push('}');
            Ok(())
        }),
        false => tables(snapshots),
    }
}

/// A JSON document with one item for each process.
pub(super) fn document<T>(
    all: &[T],
    warnings: &[String],
    write: impl Fn(&mut String, &T) -> std::fmt::Result,
) -> String {
    let mut text = String::new();
    let mut written = report::write_head(&mut text, warnings.iter().map(String::as_bytes));
    text.push_str(",\"processes\":[");
    for (index, one) in all.iter().enumerate() {
        text.push_str(if index > 0 { "," } else { "" });
        written = written.and(write(&mut text, one));
    }
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    text + "]}\n"
}

fn tables(snapshots: &[Snapshot]) -> String {
    let mut text = String::new();
    let (mut resident, mut huge) = (0, 0);
    for snapshot in snapshots {
        text += &snapshot.to_text(false);
        text.push('\n');
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
    let _ = writeln!(
        text,
        "{processes}: {resident} kB resident, {huge} kB huge, {share}%; what they share is counted for each"
    );
    text
}

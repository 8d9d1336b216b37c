//! What several processes have, one after the other, and all together.

use std::fmt::Write;

use hugetools_contract::report::{self, Proof, Tenths};

use super::Snapshot;

/// Bytes of several processes. What they share is counted for each of them.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    resident: u64,
    huge: u64,
}

impl Total {
    fn add(&mut self, proof: &Proof<'_>) {
        for row in proof.rows {
            self.resident += row.resident;
            self.huge += row.huge_bytes();
        }
    }
}

/// Tables with a last line for all of them, or one document of JSON, whose
/// `processes` are as that of one process is.
pub fn several(snapshots: &[Snapshot], warnings: &[String], json: bool) -> String {
    match json {
        true => document(snapshots, warnings),
        false => tables(snapshots),
    }
}

fn document(snapshots: &[Snapshot], warnings: &[String]) -> String {
    let mut text = String::new();
    let warnings = warnings.iter().map(String::as_bytes);
    let mut written = report::write_head(&mut text, warnings);
    text.push_str(",\"processes\":[");
    for (index, snapshot) in snapshots.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push('{');
        written = written.and(snapshot.proof(|proof| proof.write_body(&mut text)));
        text.push('}');
    }
    text.push_str("]}\n");
    debug_assert!(written.is_ok(), "a String takes everything");
    text
}

fn tables(snapshots: &[Snapshot]) -> String {
    let mut text = String::new();
    let mut total = Total::default();
    for snapshot in snapshots {
        snapshot.proof(|proof| {
            let written = proof.write_table(&mut text);
            debug_assert!(written.is_ok(), "a String takes everything");
            total.add(proof);
        });
        text += &snapshot.folio_table(false);
        text.push('\n');
    }
    let share = Tenths::of(total.huge, total.resident);
    let (resident, huge) = (total.resident / 1024, total.huge / 1024);
    let processes = match snapshots.len() {
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    let _ = writeln!(
        text,
        "{processes}: {resident} kB resident, {huge} kB huge, {share}%; what they share is counted for each"
    );
    text
}

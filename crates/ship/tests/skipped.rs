//! Prints the tests that were skipped, and how many for each reason. Cargo sorts packages
//! by name and runs this one last, so these are the last lines of `cargo test`.
#![expect(clippy::disallowed_methods, reason = "reads a file of the tests")]

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::os::unix::process::parent_id;

fn main() -> std::io::Result<()> {
    // Written by tests/support/live.rs of the root package: a line is `TEST: REASON`.
    let path = format!("{}/skipped-{}", env!("CARGO_TARGET_TMPDIR"), parent_id());
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Ok(());
    };
    std::fs::remove_file(path)?;
    let mut tests: Vec<&str> = text.lines().collect();
    tests.sort_unstable();
    tests.dedup();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, reason) in tests.iter().filter_map(|line| line.split_once(": ")) {
        *reasons.entry(reason).or_default() += 1;
    }
    let mut out = stdout().lock();
    for line in &tests {
        writeln!(out, "skipped {line}")?;
    }
    writeln!(out, "\ntests skipped or cut short: {}", tests.len())?;
    for (reason, count) in reasons {
        writeln!(out, "{count:5} {reason}")?;
    }
    Ok(())
}

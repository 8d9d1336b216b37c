//! Prints which tests were skipped, and why. Cargo sorts packages by name and runs this one
//! last, so these are the last lines of `cargo test`.
#![expect(clippy::disallowed_methods, reason = "reads a file of the tests")]

use std::io::{Write, stdout};
use std::os::unix::process::parent_id;

fn main() -> std::io::Result<()> {
    // Written by tests/harness.rs of the root package, if it ran.
    let path = format!("{}/skipped-{}", env!("CARGO_TARGET_TMPDIR"), parent_id());
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Ok(());
    };
    std::fs::remove_file(path)?;
    stdout().write_all(text.as_bytes())
}

//! `--report` and `--messages`: contents and destination, however the program ends.
#![expect(clippy::disallowed_methods, reason = "reads reports")]

mod ends;
mod messages;
mod own_memory;
mod parent;
mod report_file;
mod still_running;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::tool::tool;

/// hugectl samples the program's memory at least once in this time.
const SAMPLING_TIME: Duration = Duration::from_millis(1500);

/// Returns the only child of hugectl: the program.
fn child_of(hugectl: u32) -> u32 {
    let file = format!("/proc/{hugectl}/task/{hugectl}/children");
    let children = fs::read_to_string(file).unwrap();
    children.trim().parse().expect(&children)
}

fn hugectl(report: &str, program: &Path, args: &[&str]) -> Command {
    let mut command = tool("hugectl");
    command
        .args(["-q", "--thp", report])
        .arg(program)
        .args(args);
    command
}

/// Returns the lines of a report, at least `count`: a child may write after hugectl has ended.
fn lines(file: &Path, count: usize) -> Vec<Value> {
    let text = || fs::read_to_string(file).unwrap_or_default();
    for _ in 0..2000 {
        if text().matches('\n').count() >= count {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let line = |line: &str| serde_json::from_str(line).expect(line);
    text().lines().map(line).collect()
}

/// Returns the resident bytes of all segments.
fn resident(line: &Value) -> u64 {
    let rows = line["segments"].as_array().unwrap();
    rows.iter()
        .map(|row| row["resident"].as_u64().unwrap())
        .sum()
}

/// Returns the row of a segment in a printed report or explanation.
pub(super) fn row<'a>(report: &'a str, segment: &str) -> &'a str {
    let begins = |line: &&str| line.split(' ').next() == Some(segment);
    report.lines().find(begins).unwrap_or_default()
}

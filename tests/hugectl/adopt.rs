//! `--pid`: hugectl collapses the memory of running programs.

mod collapse;
mod known;

use std::process::Command;

use serde_json::Value;

use super::place::Ran;
use crate::support::empty_pool::{EmptyPoolMachine, empty_pool_machine};
use crate::support::live::skip;
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, tool};

/// Returns the machine with an empty pool, and a command that fills a kind of memory (`adopt.c`).
fn adoptable(test: &str, kind: &str, megabytes: &str) -> Option<(EmptyPoolMachine, Command)> {
    let machine = empty_pool_machine(test)?;
    if !can_adopt(test, machine.can_use_thp()) {
        return None;
    }
    let mut command = Command::new(build("adopt", Libc::Glibc, &[])?);
    command.args([kind, megabytes]);
    Some((machine, command))
}

fn hugectl(words: &[&str]) -> Ran {
    tool("hugectl").args(words).ran()
}

/// Runs hugectl and returns its JSON output.
fn hugectl_json(words: &[&str]) -> Value {
    let done = hugectl(&[words, &["--json"]].concat());
    let value: Value = serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}"));
    assert_eq!(value["status"], done.status, "{done:?}");
    value
}

/// Returns the process of a report on one process.
fn single_process(report: &Value) -> &Value {
    let processes = report["processes"].as_array();
    let [process] = &processes.unwrap_or_else(|| panic!("{report:#}"))[..] else {
        panic!("{report:#}");
    };
    check_sums(process);
    process
}

/// Checks that huge + left = resident after the run, and that the segments add up to resident.
fn check_sums(process: &Value) {
    let left = process["left"].as_array().unwrap().iter();
    let left: u64 = left.map(|left| number(&left["bytes"])).sum();
    let after = &process["after"];
    assert_eq!(
        number(&after["resident"]),
        huge(after) + left,
        "{process:#}"
    );
    for time in ["before", "after"] {
        let rows = process["segments"].as_array().unwrap().iter();
        let sum: u64 = rows.map(|row| number(&row[time]["resident"])).sum();
        assert_eq!(sum, number(&process[time]["resident"]), "{process:#}");
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// Returns the bytes on huge pages; `usage` is a process's `before` or `after`.
fn huge(usage: &Value) -> u64 {
    let sizes = usage["huge"].as_object().unwrap();
    sizes.values().map(number).sum()
}

/// Returns which part of the resident memory is huge in `after`.
fn huge_share(process: &Value) -> f64 {
    huge(&process["after"]) as f64 / number(&process["after"]["resident"]) as f64
}

/// Whether the kernel collapses memory of other processes (Linux 6.1). If not, reports a skip.
fn can_adopt(test: &str, can_use_thp: bool) -> bool {
    if !can_use_thp {
        return skip::<()>(test, "this machine has no transparent huge pages").is_some();
    }
    let release = nix::sys::utsname::uname().unwrap();
    let release = release.release().to_string_lossy().into_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 1) || skip::<()>(test, "process_madvise collapses since Linux 6.1").is_some()
}

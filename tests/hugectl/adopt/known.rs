//! `--pid` on large programs: the memory on huge pages, and hugectl's CPU time within `--budget`.

use std::process::Command;

use super::{can_adopt, huge, huge_share, hugectl_json, number, single_process};
use crate::support::live::machine;
use crate::support::needs;
use crate::support::running::Running;

/// A program with 400 MB of objects. It compares their total length before and after the collapse.
const PYTHON: &str = r#"
import sys
def total(): return sum(map(len, items))
items = [b"%d" % n + b"x" * 1000 for n in range(390000)]
before = total()
print("ready", flush=True)
sys.stdin.read()
same = total() == before and items[377777].startswith(b"377777x")
print("same" if same else "changed", flush=True)
"#;

/// A program with 1 GiB of touched shared memory, which is slow to inspect.
const SHARED: &str = r#"
import mmap, sys
memory = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 4096): memory[at] = 1
print("ready", flush=True)
sys.stdin.read()
"#;

/// Returns the share of one CPU that hugectl used while it collapsed the process.
fn cpu_share(process: &serde_json::Value) -> f64 {
    process["cpu_seconds"].as_f64().unwrap() / process["seconds"].as_f64().unwrap()
}

#[test]
fn python_objects_of_400_mb_move_to_huge_pages() {
    let name = "collapse of a large Python program";
    let Some(live) = machine(name) else { return };
    if !can_adopt(name, live.can_use_thp()) || !needs::programs(name, &["python3"]) {
        return;
    }
    let subject = Running::ready(Command::new("python3").args(["-c", PYTHON]));
    let found = hugectl_json(&["--pid", &subject.pid()]);
    let process = single_process(&found);
    assert!(
        number(&process["after"]["resident"]) > 375 << 20,
        "{found:#}"
    );
    assert!(
        huge(&process["before"]) == 0 && huge_share(process) >= 0.9,
        "{found:#}"
    );
    // The default budget is 25 %.
    assert!(cpu_share(process) < 0.27, "{found:#}");
    assert_eq!(subject.end().out, "same\n");
}

#[test]
fn inspection_keeps_to_the_budget() {
    let name = "CPU budget of an inspection";
    let Some(live) = machine(name) else { return };
    if !can_adopt(name, live.can_use_thp()) || !needs::programs(name, &["python3"]) {
        return;
    }
    let subject = Running::ready(Command::new("python3").args(["-c", SHARED]));
    let found = hugectl_json(&["--pid", &subject.pid(), "--stack", "--budget=2"]);
    assert!(cpu_share(single_process(&found)) < 0.1, "{found:#}");
}

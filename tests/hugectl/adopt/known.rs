//! Large programs: the result, and the CPU time within `--budget`.

use std::process::Command;

use super::{can_adopt, document, huge, number, only, share};
use crate::support::live::machine;
use crate::support::needs;
use crate::support::running::Running;

/// 400 MB of objects, summed up before and after.
const PYTHON: &str = r#"
import sys
def look(): return sum(map(len, things))
things = [b"%d" % n + b"x" * 1000 for n in range(390000)]
before = look()
print("ready", flush=True)
sys.stdin.read()
print("same" if look() == before and things[377777].startswith(b"377777x") else "changed", flush=True)
"#;

/// 1 GiB of shared memory, which is slow to inspect.
const SHARED: &str = r#"
import mmap, sys
room = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 4096): room[at] = 1
print("ready", flush=True)
sys.stdin.read()
"#;

/// Returns the share of a CPU that hugectl used.
fn load(process: &serde_json::Value) -> f64 {
    process["cpu_seconds"].as_f64().unwrap() / process["seconds"].as_f64().unwrap()
}

#[test]
fn a_python_of_400_megabytes() {
    let name = "adopted Python";
    let Some(live) = machine(name) else { return };
    if !can_adopt(name, live.thp_serves()) || !needs::programs(name, &["python3"]) {
        return;
    }
    let subject = Running::ready(Command::new("python3").args(["-c", PYTHON]));
    let found = document(&["--pid", &subject.pid()]);
    let process = only(&found);
    assert!(
        number(&process["after"]["resident"]) > 375 << 20,
        "{found:#}"
    );
    assert!(
        huge(&process["before"]) == 0 && share(process) >= 0.9,
        "{found:#}"
    );
    // The default budget is 25 %.
    assert!(load(process) < 0.27, "{found:#}");
    assert_eq!(subject.end().out, "same\n");
}

#[test]
fn inspection_keeps_to_the_budget() {
    let name = "the budget of inspection";
    let Some(live) = machine(name) else { return };
    if !can_adopt(name, live.thp_serves()) || !needs::programs(name, &["python3"]) {
        return;
    }
    let subject = Running::ready(Command::new("python3").args(["-c", SHARED]));
    let found = document(&["--pid", &subject.pid(), "--stack", "--budget=2"]);
    assert!(load(only(&found)) < 0.1, "{found:#}");
}

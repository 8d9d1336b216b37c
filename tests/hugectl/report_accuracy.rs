//! Warnings and reports agree with the kernel's figures, for each kind of memory, state of
//! the pool and fallback. The processes of one start warn once.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, hugectl, tool};

/// Minimum (kB) of the memory of `kinds.c` in whole huge pages.
const MIN_HUGE_KB: u64 = 20 << 10;

/// A launch and its results, in kB.
#[derive(Debug)]
struct Launch {
    ran: Ran,
    pool: u64,
    thp: u64,
    is_refused: bool,
    /// Huge memory according to the report, and the reason for the rest.
    reported: u64,
    reason: Option<String>,
}

impl Launch {
    fn new(program: &Path, kind: &str, pages: &str, fallback: &str, report: &Path) -> Launch {
        let mut command = tool("hugectl");
        command.arg(format!("--{kind}{pages}"));
        command.arg(format!("--fallback={fallback}"));
        command.arg(format!("--report={}", report.display()));
        command.arg(program).arg(kind);
        let ran = command.ran();
        assert_eq!(ran.status, 0, "{ran:?}");
        let mut figures = ran.out.split_whitespace().map(str::parse);
        let mut figure = || figures.next().and_then(Result::ok);
        let (pool, thp) = (figure(), figure());
        let text = fs::read_to_string(report).unwrap();
        fs::remove_file(report).unwrap();
        // The program ends after its child.
        let of_program = text.lines().last().unwrap();
        let row = row(&serde_json::from_str(of_program).unwrap(), kind);
        let huge = row["huge"].as_object().map(|huge| huge.values());
        let huge = huge.into_iter().flatten().filter_map(Value::as_u64);
        Launch {
            pool: pool.unwrap_or(0),
            thp: thp.unwrap_or(0),
            is_refused: pool.is_none(),
            reported: huge.sum::<u64>() / 1024,
            reason: row["reason"].as_str().map(str::to_owned),
            ran,
        }
    }

    /// Returns the mistakes in the warnings and the report.
    fn mistakes(&self, kind: &str, pages: &str) -> Vec<&'static str> {
        let warnings = self
            .ran
            .err
            .lines()
            .filter(|line| line.contains("warning: "));
        let warnings: Vec<&str> = warnings.collect();
        let says = |words: &[&str]| {
            warnings
                .iter()
                .any(|line| words.iter().any(|w| line.contains(w)))
        };
        let huge = self.pool + self.thp;
        let served = match (kind, pages) {
            // Huge pages of the file need no pool.
            ("text", "" | "=2MB") => huge,
            ("anon", _) | (_, "=thp") => self.thp,
            _ => self.pool,
        } >= MIN_HUGE_KB;
        let to_thp = ["to transparent huge pages", "using transparent huge pages"];
        let to_base = ["to base pages", "using base pages", "on base pages"];
        let fails = [
            "request fails",
            "requests for more fail",
            "fail (--fallback=none)",
        ];
        let faults = [
            (!served && warnings.is_empty(), "silent"),
            (served && !warnings.is_empty(), "needless"),
            (warnings.len() > 1, "twice"),
            (says(&to_thp) && self.thp == 0, "no transparent huge pages"),
            (says(&to_base) && self.thp > 0, "not on base pages"),
            (self.is_refused && !says(&fails), "refused"),
            (
                !self.is_refused && self.reported.abs_diff(huge) > 2048,
                "another report",
            ),
            (
                !self.is_refused && huge < MIN_HUGE_KB && self.reason.is_none(),
                "no reason",
            ),
        ];
        let found = faults.into_iter().filter(|(is_fault, _)| *is_fault);
        found.map(|(_, fault)| fault).collect()
    }
}

/// Returns the largest row of a segment.
fn row(report: &Value, kind: &str) -> Value {
    let rows = report["segments"].as_array().unwrap();
    let rows = rows.iter().filter(|row| row["segment"] == kind);
    let largest = rows.max_by_key(|row| row["mapped"].as_u64());
    largest.cloned().unwrap_or_default()
}

#[test]
fn warnings_and_reports_agree_with_the_kernel() {
    let Some(live) = machine("warnings of each launch") else {
        return;
    };
    let Some(program) = build("kinds", Libc::Glibc, &["-fno-pie", "-no-pie"]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report");
    let mut wrong = Vec::new();
    for pool in [0, 9, 40] {
        live.set_pool(pool);
        for (kind, pages) in [
            ("data", ""),
            ("data", "=2MB"),
            ("heap", ""),
            ("heap", "=thp"),
            ("shm", ""),
            ("shm", "=thp"),
            ("anon", ""),
            ("anon", "=thp"),
            ("text", ""),
            ("text", "=2MB"),
            ("text", "=thp"),
        ] {
            for fallback in ["thp", "base", "none"] {
                let launch = Launch::new(&program, kind, pages, fallback, &report);
                let faults = launch.mistakes(kind, pages);
                if !faults.is_empty() {
                    wrong.push(format!(
                        "{pool} {kind}{pages} {fallback}: {faults:?} {launch:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the warnings of a start whose programs each need more than the pool has.
fn warnings(pages: u32, options: &str, script: &str) -> Option<Vec<String>> {
    let live = machine("warnings of processes")?;
    let program = build("kinds", Libc::Glibc, &["-fno-pie", "-no-pie"])?;
    live.set_pool(pages.into());
    let mut command = tool("hugectl");
    command.args(options.split_whitespace());
    command.args([
        "sh",
        "-c",
        &script.replace("KINDS", program.to_str().unwrap()),
    ]);
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    let lines = ran.err.lines().filter(|line| line.contains("warning: "));
    Some(lines.map(str::to_owned).collect())
}

#[test]
fn a_start_warns_once() {
    let together = "KINDS shm & KINDS shm & KINDS shm & wait";
    for (pages, options, script) in [
        (0, "--shm", "KINDS shm; KINDS shm; sh -c 'KINDS shm; :'"),
        (0, "--shm --fallback=none", together),
        (2, "--shm --fallback=base", together),
        (10, "--heap", "KINDS heap; KINDS heap; KINDS heap"),
        (
            10,
            "--heap --fallback=base",
            "KINDS heap & KINDS heap; wait; exec KINDS heap",
        ),
    ] {
        let Some(lines) = warnings(pages, options, script) else {
            return;
        };
        assert_eq!(lines.len(), 1, "{pages} {options}: {lines:#?}");
        assert!(
            lines[0].starts_with("libhugetlbfs: warning: "),
            "{lines:#?}"
        );
    }
    // A nested start warns again.
    let script = format!("'{}' --shm KINDS shm; KINDS shm", hugectl().display());
    assert_eq!(warnings(0, "--shm", &script).unwrap().len(), 2);
}

#[test]
fn each_process_warns_without_a_shared_directory() {
    let script = "HUGETLB_STARTER=$$:7:0:/nowhere/starts; KINDS shm alone; KINDS shm alone";
    if let Some(lines) = warnings(0, "--shm", script) {
        assert_eq!(lines.len(), 2, "{lines:#?}");
    }
}

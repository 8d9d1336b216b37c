//! What is said of a launch, and its report, agree with the kernel's figures: each kind
//! of memory, each state of the pool, each fallback; and what a child falls short of, too,
//! is not said again.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, hugectl, tool};

/// As `kinds.c` has it, but for the ends that lie in no whole huge page.
const WANTED: u64 = 20 << 10;

/// A launch, and what came of it, in kB.
#[derive(Debug)]
struct Launch {
    ran: Ran,
    pool: u64,
    thp: u64,
    is_refused: bool,
    /// What the report says is huge, and why there is not more.
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
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, 0, "{ran:?}");
        let mut figures = ran.out.split_whitespace().map(str::parse);
        let mut figure = || figures.next().and_then(Result::ok);
        let (pool, thp) = (figure(), figure());
        let text = fs::read_to_string(report).unwrap();
        fs::remove_file(report).unwrap();
        // The last to end is the program, after its child.
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

    /// What is amiss with what was said.
    fn faults(&self, kind: &str, pages: &str) -> Vec<&'static str> {
        let said = self.ran.err.lines().filter(|line| line.contains("WARNING"));
        let said: Vec<&str> = said.collect();
        let says = |words: &[&str]| {
            said.iter()
                .any(|line| words.iter().any(|w| line.contains(w)))
        };
        let huge = self.pool + self.thp;
        let served = match (kind, pages) {
            // Those of its file are huge pages without a pool.
            ("text", "" | "=2MB") => huge,
            ("anon", _) | (_, "=thp") => self.thp,
            _ => self.pool,
        } >= WANTED;
        let to_thp = ["to transparent huge pages", "transparent huge pages follow"];
        let to_base = ["to base pages", "base pages follow", "on base pages"];
        let fails = [
            "request fails",
            "requests for more fail",
            "fail (--fallback=none)",
        ];
        let faults = [
            (!served && said.is_empty(), "silent"),
            (served && !said.is_empty(), "needless"),
            (said.len() > 1, "twice"),
            (says(&to_thp) && self.thp == 0, "no transparent huge pages"),
            (says(&to_base) && self.thp > 0, "not on base pages"),
            (self.is_refused && !says(&fails), "refused"),
            (
                !self.is_refused && self.reported.abs_diff(huge) > 2048,
                "another report",
            ),
            (
                !self.is_refused && huge < WANTED && self.reason.is_none(),
                "no reason",
            ),
        ];
        let found = faults.into_iter().filter(|(is_so, _)| *is_so);
        found.map(|(_, fault)| fault).collect()
    }
}

/// The row of the program's own memory of one kind: of data and bss, the larger one.
fn row(report: &Value, kind: &str) -> Value {
    let rows = report["segments"].as_array().unwrap();
    let rows = rows.iter().filter(|row| row["segment"] == kind);
    let largest = rows.max_by_key(|row| row["mapped"].as_u64());
    largest.cloned().unwrap_or_default()
}

#[test]
fn what_is_said_agrees_with_what_there_is() {
    let Some(live) = machine("what is said of each launch") else {
        return;
    };
    let Some(program) = build("kinds", Libc::Glibc, &["-fno-pie", "-no-pie"]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report");
    let mut wrong = Vec::new();
    for pool in [0, 2, 9, 40] {
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
                let faults = launch.faults(kind, pages);
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

/// What a start prints on standard error, with programs that each want more of a pool of
/// so many pages than it has.
fn said(pages: u32, options: &str, script: &str) -> Option<Vec<String>> {
    let live = machine("what processes say")?;
    let program = build("kinds", Libc::Glibc, &["-fno-pie", "-no-pie"])?;
    live.set_pool(pages.into());
    let mut command = tool("hugectl");
    command.args(options.split_whitespace());
    command.args([
        "sh",
        "-c",
        &script.replace("KINDS", program.to_str().unwrap()),
    ]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let lines = ran.err.lines().filter(|line| line.contains("WARNING"));
    Some(lines.map(str::to_owned).collect())
}

#[test]
fn one_process_of_a_start_says_it() {
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
        let Some(lines) = said(pages, options, script) else {
            return;
        };
        assert_eq!(lines.len(), 1, "{pages} {options}: {lines:#?}");
        assert!(
            lines[0].starts_with("libhugetlbfs: WARNING: "),
            "{lines:#?}"
        );
    }
    // Another start says it again.
    let script = format!("'{}' --shm KINDS shm; KINDS shm", hugectl().display());
    assert_eq!(said(0, "--shm", &script).unwrap().len(), 2);
}

#[test]
fn where_nothing_can_be_kept_it_is_said_by_each() {
    let script = "HUGETLB_STARTER=$$:7:/nowhere/starts; KINDS shm alone; KINDS shm alone";
    if let Some(lines) = said(0, "--shm", script) {
        assert_eq!(lines.len(), 2, "{lines:#?}");
    }
}

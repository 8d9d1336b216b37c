//! Filters of system calls that are there before hugectl, or behind it.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::path::Path;
use std::process::Command;

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::still::without_pool;
use crate::support::tool::{Ran, tool};

/// A filter is in the way of mremap, and there is memory enough.
#[test]
fn what_keeps_a_copy_from_its_place_is_named() {
    let Some(live) = machine("a filter that refuses mremap") else {
        return;
    };
    live.set_pool(20);
    let programs = build("no_mremap", Libc::Glibc, &[]).zip(build("stream", Libc::Glibc, &[]));
    let Some((filter, program)) = programs else {
        return;
    };
    let mut command = Command::new(filter);
    command.arg(tool("hugectl").get_program());
    command.args(["--data", "--report"]).arg(program);
    let ran: Ran = command.output().unwrap().into();
    let why = "the system refuses mremap, which puts a copy in its place";
    let data = ran.err.lines().find(|line| line.starts_with("data "));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(data.is_some_and(|line| line.contains(why)), "{ran:?}");
    assert_eq!(ran.err.matches("refuses mremap: ").count(), 1, "{ran:?}");
    assert!(!ran.err.contains("no memory for a copy"), "{ran:?}");
}

/// What a filter may not let through: calls of hugectl's, and of the libraries, that a
/// plain program does not make.
const CALLS: [&str; 14] = [
    "mremap",
    "madvise",
    "memfd_create",
    "prctl",
    "mbind",
    "set_mempolicy",
    "get_mempolicy",
    "shmget",
    "userfaultfd",
    "process_vm_readv",
    "unshare",
    "io_uring_setup",
    "ftruncate",
    "pidfd_open",
];

/// What it does then: refuses, ends the process, sends a signal.
const RESULTS: [&[&str]; 3] = [&[], &["-DENDS"], &["-DTRAPS"]];

fn filter(call: &str, result: &[&str]) -> Option<std::path::PathBuf> {
    let call = format!("-DCALL=SYS_{call}");
    let mut options = vec![call.as_str()];
    options.extend(result);
    build("no_mremap", Libc::Glibc, &options)
}

fn under(filter: &Path, options: &[&str], program: &Path) -> Ran {
    let mut command = Command::new(filter);
    command.arg(tool("hugectl").get_program()).args(options);
    command.arg(program).output().unwrap().into()
}

/// A program runs under hugectl where it runs without.
#[test]
fn no_call_is_made_that_a_filter_does_not_let_through() {
    let Some(program) = build("segments", Libc::Glibc, &[]) else {
        return;
    };
    let all = CALLS
        .into_iter()
        .flat_map(|call| RESULTS.map(|result| (call, result)));
    // hugectl itself calls prctl to ask for filters.
    let all = all.filter(|(call, result)| *call != "prctl" || result.is_empty());
    let with_filter = |(call, result): (&'static str, &'static [&'static str])| {
        Some((call, result, filter(call, result)?))
    };
    let Some(filters) = all.map(with_filter).collect::<Option<Vec<_>>>() else {
        return;
    };
    let Some(live) = machine("filters of system calls") else {
        return;
    };
    let report = tempfile::tempdir().unwrap();
    let report = format!("--report={}", report.path().join("report").display());
    let pages = ["--text", "--data", "--heap", "--shm", "--stack", "--anon"];
    let options = [pages.as_slice(), &[report.as_str()]].concat();
    for pool in [0, 20] {
        live.set_pool(pool);
        for (call, result, filter) in &filters {
            let plain = Command::new(filter).arg(&program).output().unwrap();
            let ran = under(filter, &options, &program);
            let of = format!("{call} {result:?}, {pool} pages: {ran:?}");
            assert_eq!(Some(ran.status), plain.status.code(), "{of}");
            let told = format!(
                "seccomp) {}",
                if result.is_empty() { "refuses" } else { "ends" }
            );
            let lines = ran.err.matches(&told).count();
            let moves = ["mremap", "madvise", "memfd_create", "ftruncate"].contains(call);
            assert_eq!(lines > 0, moves, "{of}");
            assert!(!ran.err.contains("libhugetlbfs: WARNING"), "{of}");
        }
    }
}

/// Calls that hugectl can do without, as those of containers refuse some.
const QUESTIONS: [&str; 6] = ["access", "faccessat2", "geteuid", "fcntl", "fstat", "statx"];

/// What hugectl only asks by a call that is refused keeps no program from its start.
#[test]
fn a_question_that_is_refused_keeps_no_program_from_its_start() {
    let place = tempfile::tempdir().unwrap();
    let (report, said) = (place.path().join("report"), place.path().join("said"));
    let report_there = format!("--report={}", report.display());
    let said_there = format!("--messages={}", said.display());
    for call in QUESTIONS {
        for result in ["EPERM", "ENOSYS"] {
            let Some(filter) = filter(call, &[&format!("-DREFUSAL={result}")]) else {
                return;
            };
            let run = |options: &[&str]| {
                let run = under(&filter, options, Path::new("/bin/echo"));
                let of = format!("{call} {result} {options:?}: {run:?}");
                assert_eq!((run.status, run.out.as_str()), (0, "\n"), "{of}");
                assert!(!run.err.contains("ERROR"), "{of}");
            };
            run(&[]);
            run(&["-q", "--heap=thp", "--text=thp"]);
            // A file that is there belongs to somebody, and one that is not is made.
            for _ in 0..2 {
                run(&["-q", "--shm=thp", &report_there]);
            }
            run(&["--shm=thp", "--verbose=3", &said_there]);
            for made in [&report, &said] {
                let text = std::fs::read_to_string(made).unwrap();
                assert!(!text.is_empty(), "{call} {result} {made:?}");
                std::fs::remove_file(made).unwrap();
            }
        }
    }
}

/// A look beforehand tells it, and the program begins.
#[test]
fn what_a_filter_does_not_let_through_is_foreseen() {
    let Some(program) = build("segments", Libc::Glibc, &[]) else {
        return;
    };
    for (call, data, bss) in [
        ("mremap", "base", "transparent"),
        ("madvise", "base", "base"),
    ] {
        for result in RESULTS {
            let Some(filter) = filter(call, result) else {
                return;
            };
            let explained = under(&filter, &["--explain", "--data=thp"], &program);
            let does = match result.is_empty() {
                true => "refuses",
                false => "ends whoever calls",
            };
            let fact = format!("a filter of system calls (seccomp) {does} {call}");
            assert_eq!(explained.status, 3, "{explained:?}");
            assert!(explained.out.contains(&fact), "{explained:?}");
            let ran = under(&filter, &["--data=thp", "--report"], &program);
            assert_eq!(ran.status, 0, "{call} {result:?} {ran:?}");
            assert_eq!(ran.err.matches(&fact).count(), 1, "{ran:?}");
            for (segment, rung) in [("data", data), ("bss", bss)] {
                let line = |text: &str| {
                    let mut lines = text.lines();
                    let found = lines.find(|line| line.starts_with(&format!("{segment} ")));
                    found.map(str::to_owned).unwrap_or_default()
                };
                assert!(line(&explained.out).contains(rung), "{explained:?}");
                let has_huge = line(&ran.err).contains("2MB thp");
                assert_eq!(has_huge, rung != "base", "{segment} {call} {ran:?}");
            }
        }
    }
}

/// Most filters, as those of containers, let through what puts text on pages of a pool.
#[test]
fn text_has_pages_of_a_pool_where_a_filter_lets_files_be_made() {
    let Some(live) = machine("text of a pool under a filter") else {
        return;
    };
    // A file that no other process maps.
    let Some(program) = build("segments", Libc::Glibc, &["-DUNDER_A_FILTER"]) else {
        return;
    };
    live.set_pool(20);
    let text = |ran: &str| {
        let line = ran.lines().find(|line| line.starts_with("text "));
        line.map(str::to_owned).unwrap_or_default()
    };
    for (call, rung, pages) in [
        ("io_uring_setup", "pool", "hugetlb"),
        ("memfd_create", "transparent", "thp"),
    ] {
        let Some(filter) = filter(call, &["-DENDS"]) else {
            return;
        };
        let explained = under(&filter, &["--explain", "--text=2MB"], &program);
        assert!(text(&explained.out).contains(rung), "{explained:?}");
        let ran = under(&filter, &["--text=2MB", "--report"], &program);
        assert!(text(&ran.err).contains(pages), "{call} {ran:?}");
        assert!(!ran.err.contains("libhugetlbfs: WARNING"), "{ran:?}");
    }
}

/// Of one that is set behind hugectl nobody knows what it does.
#[test]
fn behind_hugectl_a_filter_keeps_copies_away() {
    let Some(program) = build("segments", Libc::Glibc, &[]) else {
        return;
    };
    let Some(filter) = filter("mremap", &["-DENDS"]) else {
        return;
    };
    let mut command = tool("hugectl");
    command.args(["-q", "--data=thp", "--heap=thp", "--report"]);
    let ran: Ran = command.arg(filter).arg(program).output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.err.contains("was set behind hugectl"), "{ran:?}");
}

/// A call that sets a filter and fails has set none, whoever else sets one meanwhile.
#[test]
fn a_filter_that_was_refused_is_none() {
    let Some(_live) = without_pool("filters that are refused") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("asks_for_filters", libc, &["-pthread"]) else {
            continue;
        };
        for (what, is_told) in [("asked", true), ("left", true), ("beside", false)] {
            let mut command = tool("hugectl");
            command.args(["--heap=thp", "--report"]).arg(&program);
            let ran: Ran = command.arg(what).output().unwrap().into();
            let of = format!("{libc:?} {what}: {ran:?}");
            assert_eq!((ran.status, ran.out.as_str()), (0, "right\n"), "{of}");
            // Beside a filter of its own a program tells nothing of itself.
            assert_eq!(ran.err.contains("\nended by itself "), is_told, "{of}");
        }
    }
}

//! seccomp filters that are set before hugectl, or between hugectl and the program.
#![expect(clippy::disallowed_methods, reason = "reads a report")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::libs::report::row;
use crate::support::empty_pool::{empty_pool_machine, thp_machine};
use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

/// Calls of hugectl and of the libraries that a plain program doesn't make.
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

/// Builds a program that sets a filter: the call returns an error, or kills with `-DENDS`.
fn filter(call: &str, result: &[&str]) -> Option<PathBuf> {
    let call = format!("-DCALL=SYS_{call}");
    build(
        "no_mremap",
        Libc::Glibc,
        &[&[call.as_str()], result].concat(),
    )
}

fn under(filter: &Path, options: &[&str], program: &Path) -> Ran {
    let mut command = Command::new(filter);
    command.arg(tool("hugectl").get_program()).args(options);
    command.arg(program).ran()
}

#[test]
fn a_filtered_call_is_not_made() {
    let Some(program) = build("segments", Libc::Glibc, &[]) else {
        return;
    };
    let Some(live) = machine("filters of system calls") else {
        return;
    };
    live.set_pool(20);
    let dir = tempfile::tempdir().unwrap();
    let report = format!("--report={}", dir.path().join("report").display());
    let options = [
        "--text", "--data", "--heap", "--shm", "--stack", "--anon", &report,
    ];
    for call in CALLS {
        for result in [&[][..], &["-DENDS"]] {
            // hugectl calls prctl to ask for filters.
            if call == "prctl" && !result.is_empty() {
                continue;
            }
            let Some(filter) = filter(call, result) else {
                return;
            };
            let plain = Command::new(&filter).arg(&program).output().unwrap();
            let ran = under(&filter, &options, &program);
            let what = format!("{call} {result:?}: {ran:?}");
            assert_eq!(Some(ran.status), plain.status.code(), "{what}");
            let is_reported = ["mremap", "madvise", "memfd_create", "ftruncate"].contains(&call);
            assert_eq!(ran.err.contains("seccomp) "), is_reported, "{what}");
            assert!(!ran.err.contains("libhugetlbfs: warning"), "{what}");
        }
    }
}

/// Containers reject such calls. hugectl doesn't need their results.
#[test]
fn a_rejected_query_prevents_no_start() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let report = format!("--report={}", file.display());
    for call in ["access", "faccessat2", "geteuid", "statx"] {
        for error in ["EPERM", "ENOSYS"] {
            let Some(filter) = filter(call, &[&format!("-DREFUSAL={error}")]) else {
                return;
            };
            // The second run finds the file.
            for options in [
                &["-q", "--heap=thp", "--text=thp", &report][..],
                &["-q", "--shm=thp", &report],
            ] {
                let ran = under(&filter, options, Path::new("/bin/echo"));
                let what = format!("{call} {error} {options:?}: {ran:?}");
                assert_eq!((ran.status, ran.out.as_str()), (0, "\n"), "{what}");
                assert!(!ran.err.contains("error: "), "{what}");
            }
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.lines().count() >= 2, "{call} {error}: {text}");
            std::fs::remove_file(&file).unwrap();
        }
    }
}

/// `--explain` predicts the effect of a filter, and the report shows it.
#[test]
fn a_filter_is_explained_and_reported() {
    let Some(program) = build("segments", Libc::Glibc, &[]) else {
        return;
    };
    let Some(_machine) = thp_machine("filters of calls for transparent huge pages") else {
        return;
    };
    for (call, data, bss) in [
        ("mremap", "base", "transparent"),
        ("madvise", "base", "base"),
    ] {
        for result in [&[][..], &["-DENDS"]] {
            let Some(filter) = filter(call, result) else {
                return;
            };
            let explained = under(&filter, &["--explain", "--data=thp"], &program);
            assert_eq!(explained.status, 3, "{explained:?}");
            assert!(explained.out.contains("seccomp"), "{explained:?}");
            let ran = under(&filter, &["--data=thp", "--report"], &program);
            assert_eq!(ran.status, 0, "{call} {result:?} {ran:?}");
            for (segment, rung) in [("data", data), ("bss", bss)] {
                let predicted = row(&explained.out, segment);
                assert!(predicted.contains(rung), "{explained:?}");
                let is_huge = row(&ran.err, segment).contains("2MB thp");
                assert_eq!(is_huge, rung != "base", "{segment} {call} {ran:?}");
            }
        }
    }
}

/// Text on the pool needs memfd_create, which most filters allow.
#[test]
fn text_is_on_the_pool_under_most_filters() {
    let Some(live) = machine("text of a pool under a filter") else {
        return;
    };
    // A file that no other process maps.
    let Some(program) = build("segments", Libc::Glibc, &["-DUNDER_A_FILTER"]) else {
        return;
    };
    live.set_pool(20);
    for (call, rung, pages) in [
        ("io_uring_setup", "pool", "hugetlb"),
        ("memfd_create", "transparent", "thp"),
    ] {
        let Some(filter) = filter(call, &["-DENDS"]) else {
            return;
        };
        let explained = under(&filter, &["--explain", "--text=2MB"], &program);
        assert!(row(&explained.out, "text").contains(rung), "{explained:?}");
        let ran = under(&filter, &["--text=2MB", "--report"], &program);
        assert!(row(&ran.err, "text").contains(pages), "{call} {ran:?}");
    }
}

/// The library doesn't know the rules of a filter that was set after hugectl.
#[test]
fn under_an_unknown_filter_segments_stay() {
    let Some(program) = build("segments", Libc::Glibc, &[]) else {
        return;
    };
    let Some(filter) = filter("mremap", &["-DENDS"]) else {
        return;
    };
    let mut command = tool("hugectl");
    command.args(["-q", "--data=thp", "--heap=thp", "--report"]);
    let ran = command.arg(filter).arg(program).ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        row(&ran.err, "data").contains("came after hugectl"),
        "{ran:?}"
    );
}

/// libseccomp probes the kernel by calls that fail.
#[test]
fn a_rejected_filter_changes_nothing() {
    let Some(_live) = empty_pool_machine("filters that are rejected") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("contract/confined", libc, &[]) else {
            continue;
        };
        let mut command = tool("hugectl");
        command.args(["--heap=thp", "--report"]).arg(&program);
        let ran = command.args(["0", "asked"]).ran();
        assert_eq!((ran.status, ran.out.as_str()), (0, "right\n"), "{ran:?}");
        // Under a filter the library would not report the end.
        assert!(ran.err.contains("\nended after "), "{libc:?}: {ran:?}");
    }
}

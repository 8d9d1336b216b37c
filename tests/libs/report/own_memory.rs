//! `--report` says why memory mapped without malloc isn't on huge pages.

use std::path::Path;

use super::{lines, row};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

fn run_with_report(program: &Path, how: &str) -> Ran {
    let mut command = tool("hugectl");
    command.args(["--heap=thp", "--report"]);
    let ran = command.arg(program).arg(how).ran();
    assert_eq!(ran.status, 0, "{how}: {ran:?}");
    ran
}

#[test]
fn an_allocator_of_the_program_is_named() {
    let Some(program) = build("own_memory", Libc::Glibc, &["-fno-builtin", "-DOWN"]) else {
        return;
    };
    let ran = run_with_report(&program, "map");
    assert!(row(&ran.err, "anon").contains("own allocator"), "{ran:?}");
}

#[test]
fn memory_without_malloc_is_named() {
    let Some(program) = build("own_memory", Libc::Glibc, &["-fno-builtin"]) else {
        return;
    };
    for (how, segment, reason) in [
        ("map", "anon", "mapped by the program itself"),
        ("brk", "heap", "(brk)"),
        ("malloc", "heap", ""),
    ] {
        let ran = run_with_report(&program, how);
        assert!(row(&ran.err, segment).contains(reason), "{how}: {ran:?}");
        let is_own = ran.err.contains("by the program itself");
        assert_eq!(is_own, how != "malloc", "{how}: {ran:?}");
    }
}

/// For partly touched files and shared memory the report has their Rss.
#[test]
fn a_process_without_huge_pages_is_counted_as_in_smaps() {
    let Some(program) = build("partly_touched", Libc::Glibc, &[]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (report, file) = (dir.path().join("report"), dir.path().join("mapped"));
    let option = format!("--report={}", report.display());
    let mut command = tool("hugectl");
    command
        .args(["--heap=thp", &option])
        .arg(program)
        .arg(&file);
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    let all = lines(&report, 1);
    let rows = all[0]["segments"].as_array().unwrap();
    let resident = |field: &str, value: &str| -> u64 {
        let rows = rows.iter().filter(|row| row[field] == value);
        rows.map(|row| row["resident"].as_u64().unwrap()).sum()
    };
    let of_file = resident("object", file.to_str().unwrap());
    let of_memory = resident("segment", "shm");
    assert_eq!(ran.out, format!("{of_file} {of_memory}\n"), "{all:?}");
    assert_eq!(of_memory, 21 * 4096);
}

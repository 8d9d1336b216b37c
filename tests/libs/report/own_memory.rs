//! What a report says of memory that a program maps past malloc: the heap is small
//! because of it, also where it is given back before the end.
#![expect(clippy::disallowed_methods, reason = "reads a report")]

use std::path::Path;

use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

fn reported(program: &Path, how: &str) -> Ran {
    let mut command = tool("hugectl");
    command.args(["--heap=thp", "--report"]);
    command.arg(program).arg(how).output().unwrap().into()
}

/// The line of a kind of memory in the report.
fn line<'a>(ran: &'a Ran, segment: &str) -> &'a str {
    let line = ran.err.lines().find(|line| line.starts_with(segment));
    line.unwrap_or_default()
}

#[test]
fn an_allocator_of_the_program_s_own_is_the_reason() {
    let Some(program) = build("own_memory", Libc::Glibc, &["-fno-builtin", "-DOWN"]) else {
        return;
    };
    for how in ["map", "malloc"] {
        let ran = reported(&program, how);
        assert_eq!(ran.status, 0, "{ran:?}");
        let told = "WARNING: the heap stays as it is: the program has its own allocator";
        assert!(ran.err.contains(told), "{ran:?}");
        let reason = "(the program has its own allocator, which --heap does not reach)";
        assert!(line(&ran, "anon ").ends_with(reason), "{how}: {ran:?}");
    }
}

#[test]
fn memory_past_malloc_is_the_reason_also_once_it_is_given_back() {
    let Some(program) = build("own_memory", Libc::Glibc, &["-fno-builtin"]) else {
        return;
    };
    for (how, heap, anon) in [
        (
            "map",
            "(a small heap; most memory was",
            "(mapped by the program itself",
        ),
        (
            "give",
            "(a small heap; most memory was",
            "(most was given back; mapped by",
        ),
        ("brk", "(taken by the program itself (brk)", ""),
        ("malloc", "", ""),
    ] {
        let ran = reported(&program, how);
        let line = |segment| line(&ran, segment);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(
            line("heap ").contains(heap) && line("anon ").contains(anon),
            "{how}: {ran:?}"
        );
        let is_its_own = ran.err.contains("by the program itself");
        assert_eq!(is_its_own, how != "malloc", "{how}: {ran:?}");
    }
}

/// Of a process without a huge page the kernel is asked another way, which says the same.
#[test]
fn a_process_without_huge_pages_is_counted_as_smaps_does() {
    let Some(program) = build("plain", Libc::Glibc, &[]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (report, file) = (dir.path().join("report"), dir.path().join("mapped"));
    let mut command = tool("hugectl");
    command.arg("--heap=thp");
    command.arg(format!("--report={}", report.display()));
    let ran: Ran = command.arg(program).arg(&file).output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let text = std::fs::read_to_string(&report).unwrap();
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = told["segments"].as_array().unwrap();
    let resident = |wanted: &dyn Fn(&serde_json::Value) -> bool| -> u64 {
        let rows = rows.iter().filter(|row| wanted(row));
        rows.map(|row| row["resident"].as_u64().unwrap()).sum()
    };
    let path = file.to_str().unwrap();
    let of_file = resident(&|row| row["object"] == path);
    let of_memory = resident(&|row| row["segment"] == "shm");
    assert_eq!(ran.out, format!("{of_file} {of_memory}\n"), "{text}");
    assert_eq!(of_memory, 21 * 4096);
}

/// A heap that has just grown has a reason for what it begins with, whatever its size.
#[test]
fn what_a_heap_begins_with_is_the_reason_whatever_it_grows_to() {
    for blocks in [80, 170, 200, 230, 260, 400] {
        let program = format!("@b = map {{ 'x' x 100000 }} 1..{blocks}");
        let mut command = tool("hugectl");
        command.args(["-q", "--heap=thp", "--report", "perl", "-e", &program]);
        let ran: Ran = command.output().unwrap().into();
        let heap = line(&ran, "heap");
        let is_huge = heap.contains("100.0%") || heap.contains("99.");
        assert!(
            is_huge || heap.contains("on base pages)"),
            "{blocks}: {heap}"
        );
    }
}

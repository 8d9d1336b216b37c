//! A copy of hugectl without libraries beside it: it writes the bundled ones to disk.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::place::{Place, Ran, as_nobody};
use crate::support::needs;
use crate::support::tool::Run;

/// Prints a mapping of the loaded library, with its path at the end.
const PRINT_MAPPING: &str = "grep -m1 libhugetlbfs /proc/self/maps";

/// Returns a place without installed libraries, and a run-time directory of nobody.
fn without_libraries() -> Place {
    let place = Place::new();
    fs::remove_dir_all(place.path("prefix/lib")).unwrap();
    place.shell("mkdir -m 700 runtime; chown 65534:65534 runtime");
    place
}

fn run(place: &Place, args: &[&str]) -> Ran {
    let mut command: Command = place.command(args);
    command.env("XDG_RUNTIME_DIR", place.path("runtime"));
    as_nobody(&command).ran()
}

/// Returns the path of the loaded library, which [`PRINT_MAPPING`] printed.
fn loaded_library(place: &Place, done: &Ran) -> PathBuf {
    assert_eq!(done.status, 0, "{done:?}");
    let path = done.out.split_whitespace().last().unwrap();
    assert!(
        path.starts_with(place.path("runtime/hugetools").to_str().unwrap()),
        "{path}"
    );
    PathBuf::from(path)
}

#[test]
fn the_bundled_library_is_written_and_loaded() {
    if !needs::root("a bundled library") {
        return;
    }
    let place = without_libraries();
    let shm = loaded_library(
        &place,
        &run(&place, &["-q", "--shm", "sh", "-c", PRINT_MAPPING]),
    );
    assert_eq!(shm.file_name().unwrap(), "libhugetlbfs.so");
    let heap = loaded_library(
        &place,
        &run(&place, &["-q", "--heap=thp", "sh", "-c", PRINT_MAPPING]),
    );
    assert_eq!(heap.file_name().unwrap(), "libhugetlbfs_heap.so");
    assert_eq!(shm.parent(), heap.parent());
}

#[test]
fn a_modified_library_is_replaced() {
    if !needs::root("a changed library") {
        return;
    }
    let place = without_libraries();
    let first = run(&place, &["-q", "--shm", "sh", "-c", PRINT_MAPPING]);
    let path = loaded_library(&place, &first);
    let original = fs::read(&path).unwrap();
    let mut modified = original.clone();
    let last = modified.len() - 1;
    modified[last] ^= 1;
    fs::write(&path, &modified).unwrap();
    assert_eq!(
        loaded_library(
            &place,
            &run(&place, &["-q", "--shm", "sh", "-c", PRINT_MAPPING])
        ),
        path
    );
    assert_eq!(fs::read(&path).unwrap(), original);
}

#[test]
fn eight_starts_may_write_it_at_once() {
    if !needs::root("many starts") {
        return;
    }
    let place = without_libraries();
    let start = |_: usize| {
        let mut command = place.command(&["-q", "--heap=thp", "sh", "-c", PRINT_MAPPING]);
        command.env("XDG_RUNTIME_DIR", place.path("runtime"));
        let mut command = as_nobody(&command);
        command
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..8).map(start).collect();
    let mut path = None;
    for child in children {
        path = Some(loaded_library(
            &place,
            &child.wait_with_output().unwrap().into(),
        ));
    }
    let dir = fs::read_dir(path.unwrap().parent().unwrap()).unwrap();
    assert_eq!(dir.count(), 2, "the library and its note");
}

/// The program starts even if the library cannot be written: root owns the last directory that
/// hugectl tries.
#[test]
fn a_program_starts_without_the_library() {
    if !needs::root("a bundled library that cannot be written") {
        return;
    }
    // Tests of another build may run at the same time.
    let user = 1_000_000 + std::process::id();
    let place = without_libraries();
    let taken = PathBuf::from(format!("/tmp/hugetools-{user}"));
    fs::create_dir(&taken).unwrap();
    let started = place.shell(&format!(
        "setpriv --reuid={user} --clear-groups hugectl --shm echo here"
    ));
    fs::remove_dir(&taken).unwrap();
    assert_eq!((started.status, started.out.as_str()), (0, "here\n"));
    let expected = format!(
        "hugectl: warning: hugectl's bundled libhugetlbfs.so cannot be written to disk: {}: it \
         belongs to another user; the program runs without it, on base pages\n",
        taken.display()
    );
    assert_eq!(started.err, expected);
}

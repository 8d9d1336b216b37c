//! `--status`: figures, errors, and the reason if the library was not loaded.

mod folios;
mod several;

use std::process::Command;

use super::place::{Place, Ran, as_nobody};
use crate::support::empty_pool::empty_pool_machine;
use crate::support::needs;
use crate::support::running::Running;
use crate::support::tool::Run;

pub(super) const PROGRAM: &str = "
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
char zero[6 << 20];
char data[3 << 20] = {1};
int main(void) {
    memset(zero, 1, sizeof zero);
    memset(data, 2, sizeof data);
    char *p = mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *huge = (char *)(((unsigned long)p + (4 << 20) - 1) & ~((4ul << 20) - 1));
    madvise(huge, 8 << 20, MADV_HUGEPAGE);
    memset(huge, 3, 8 << 20);
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x';
}";

fn start(place: &Place) -> Running {
    Running::ready(&mut Command::new(place.build("program", PROGRAM, &[])))
}

pub(super) fn json(done: &Ran) -> serde_json::Value {
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    assert_eq!(done.out.lines().count(), 1);
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn the_table_lists_the_segments() {
    let place = Place::new();
    let running = start(&place);
    let done = place.run(&["--status", &running.pid()]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    let mut lines = done.out.lines();
    let first = format!(
        "{}, process {}",
        place.path("program").display(),
        running.pid()
    );
    assert_eq!(lines.next(), Some(first.as_str()));
    assert!(lines.next().unwrap().starts_with("segment    mapped kB"));
    let names: Vec<&str> = lines.map(|line| line.split(' ').next().unwrap()).collect();
    for name in ["text", "data", "bss", "stack", "anon"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn missing_and_foreign_processes_are_errors() {
    let place = Place::new();
    let mut child = Command::new("/bin/true").spawn().unwrap();
    child.wait().unwrap();
    let pid = child.id().to_string();
    let why = format!("there is no process {pid}");
    let dead = place.run(&["--status", &pid]);
    assert_eq!((dead.status, dead.out.as_str()), (125, ""));
    assert_eq!(dead.err, format!("hugectl: error: {why}\n"));
    let dead = place.run(&["--status", &pid, "--json"]);
    assert_eq!((dead.status, dead.err.as_str()), (125, ""));
    let value: serde_json::Value = serde_json::from_str(&dead.out).unwrap();
    assert_eq!(
        (&value["status"], &value["errors"]),
        (&125.into(), &serde_json::json!([why]))
    );
    if needs::root("the process of another user") {
        let running = start(&place);
        let command = place.command(&["--status", &running.pid()]);
        let denied = as_nobody(&command).ran();
        assert_eq!((denied.status, denied.out.as_str()), (125, ""));
        assert!(
            denied
                .err
                .contains("permission denied (EACCES); run as the owner"),
            "{}",
            denied.err
        );
        assert_eq!(denied.err.lines().count(), 1);
    }
}

#[test]
fn a_process_in_a_recorded_tree() {
    let place = Place::new();
    let running = start(&place);
    for file in ["smaps", "auxv", "environ", "status"] {
        let bytes = std::fs::read(format!("/proc/{}/{file}", running.pid())).unwrap();
        place.file(
            &format!("empty/proc/{}/{file}", running.pid()),
            bytes,
            0o644,
        );
    }
    let recorded = place.path(&format!("empty/proc/{}", running.pid()));
    std::os::unix::fs::symlink(place.path("program"), recorded.join("exe")).unwrap();
    // The tree has the program at the same path, too.
    let inside = format!("empty{}", place.path("program").display());
    place.file(
        &inside,
        std::fs::read(place.path("program")).unwrap(),
        0o755,
    );
    let pid = running.pid();
    let value = json(&place.run(&["--sysroot", "empty", "--status", &pid, "--json"]));
    drop(running);
    let again = json(&place.run(&["--sysroot", "empty", "--status", &pid, "--json"]));
    assert_eq!(value, again);
    let rows = value["segments"].as_array().unwrap();
    let bss = rows.iter().find(|row| row["segment"] == "bss").unwrap();
    assert!(bss["resident"].as_u64().unwrap() >= 6 << 20, "{bss}");
    let anon = rows.iter().find(|row| row["segment"] == "anon").unwrap();
    assert_eq!(
        anon["huge"]["2097152"].as_u64().is_some(),
        anon["mechanism"] == "thp"
    );
}

/// The loader ignores LD_PRELOAD if real and effective user differ (AT_SECURE).
#[test]
fn the_reason_for_a_missing_library_is_named() {
    // Locks the machine: if a test sets THP to `always`, segments need no library.
    let Some(_machine) = empty_pool_machine("the reason for a missing library") else {
        return;
    };
    let place = Place::new();
    let source = PROGRAM
        .replace("<stdio.h>", "<stdio.h>\n#include <unistd.h>")
        .replace("puts", "memset(sbrk(8 << 20), 4, 8 << 20);\n    puts");
    let program = place.build("program", &source, &[]);
    let options = ["-q", "--heap=thp", "--data=thp"];
    let secure = "the library is not loaded: exec raised its privileges (AT_SECURE: a set-user-id \
                  file, or different real and effective users)";
    let dropped = "its starter dropped LD_PRELOAD";
    for (starter, wanted, other) in [
        (&["setpriv", "--ruid=65534"][..], secure, dropped),
        (&["env", "-u", "LD_PRELOAD"], dropped, secure),
    ] {
        let mut command = place.command(&options);
        command.args(starter).arg(&program);
        let running = Running::ready(&mut command);
        let status = place.run(&["--status", &running.pid(), "--json"]);
        let value = json(&status);
        let segments = value["segments"].as_array().unwrap();
        let reason = |name: &str| {
            let row = segments.iter().find(|row| row["segment"] == name).unwrap();
            row["reason"].as_str().unwrap_or_default().to_owned()
        };
        assert!(reason("bss").contains(wanted), "{status:?}");
        assert!(reason("heap").contains(wanted), "{status:?}");
        assert!(!status.out.contains(other), "{status:?}");
    }
}

//! Programs whose malloc must stay: those that a sanitizer watches, which finds
//! what it finds without us, and those that call it by another name.

use std::path::Path;
use std::process::Command;

use crate::support::live::{machine, skip};
use crate::support::program::{Libc, build, build_as};
use crate::support::tool::{Ran, tool};

const SANITIZERS: [&str; 3] = ["-fsanitize=address", "-fsanitize=thread", "-fsanitize=leak"];

/// Started by hugectl, or by a shell that is.
const STARTS: [&[&str]; 2] = [&[], &["sh", "-c", "\"$0\" \"$@\""]];

const OPTIONS: [&[&str]; 3] = [
    &["--heap"],
    &["--heap", "--shm"],
    &["--shm", "--text", "--data", "--bss"],
];

fn run(options: &[&str], start: &[&str], program: &Path, words: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.env("ASAN_OPTIONS", "symbolize=0");
    command.args(options).args(start).arg(program).args(words);
    command.output().unwrap().into()
}

#[test]
fn a_sanitizer_keeps_its_malloc_and_finds_what_it_finds() {
    let checked = |sanitizer| Some((sanitizer, build("checked", Libc::Glibc, &[sanitizer])?));
    let Some(programs) = SANITIZERS
        .map(checked)
        .into_iter()
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let Some(live) = machine("sanitizers") else {
        return;
    };
    live.set_pool(40);
    for (sanitizer, program) in programs {
        for (options, start) in OPTIONS.iter().flat_map(|o| STARTS.map(|s| (*o, s))) {
            let ran = run(options, start, &program, &[]);
            let found = (ran.status, ran.out.as_str());
            assert_eq!(
                found,
                (0, "7 7\n"),
                "{sanitizer} {options:?} {start:?}: {ran:?}"
            );
            let kept = ran.err.matches("the heap stays as it is").count();
            let asked = usize::from(options[0] == "--heap");
            assert_eq!(kept, asked, "{sanitizer} {options:?} {start:?}: {ran:?}");
            if sanitizer == SANITIZERS[0] {
                let ran = run(options, start, &program, &["overflow"]);
                assert_eq!(ran.status, 1, "{options:?} {start:?}: {ran:?}");
                assert!(ran.err.contains("heap-buffer-overflow"), "{ran:?}");
            }
        }
        assert_eq!(live.free_pages_at_last(40), 40);
    }
}

#[test]
fn an_allocator_with_a_second_door_stays() {
    let flags = ["-DALLOCATOR", "-shared", "-fPIC", "-fno-builtin"];
    let Some(allocator) = build_as("libdoor.so", "door", Libc::Glibc, &flags) else {
        return;
    };
    for hash in ["gnu", "sysv"] {
        let hash = format!("-Wl,--hash-style={hash}");
        let flags = ["-Wl,--no-as-needed", allocator.to_str().unwrap(), &hash];
        let Some(program) = build("door", Libc::Glibc, &flags) else {
            return;
        };
        for start in STARTS {
            let ran = run(&["--heap"], start, &program, &[]);
            assert_eq!((ran.status, ran.out.as_str()), (0, "ok\n"), "{ran:?}");
            assert!(ran.err.contains("calls sdallocx"), "{ran:?}");
        }
    }
}

/// Real allocators, each called by a name of its own as well.
#[test]
fn the_doors_of_allocators_that_people_use() {
    for (library, calls) in [
        ("jemalloc", "rallocx,dallocx"),
        ("mimalloc", "mi_malloc,mi_free"),
        ("tcmalloc_minimal", "tc_malloc,tc_free"),
    ] {
        let found = Command::new("sh")
            .args(["-c", &format!("ls /usr/lib/*/lib{library}.so")])
            .output();
        if !found.unwrap().status.success() {
            skip(library, "it is not installed").unwrap_or(());
            continue;
        }
        let (flag, own) = (format!("-D{library}"), format!("-l{library}"));
        let flags = ["-fno-builtin", &flag, "-Wl,--no-as-needed", &own];
        let Some(program) = build("doors", Libc::Glibc, &flags) else {
            return;
        };
        for start in STARTS {
            let ran = run(&["--heap"], start, &program, &[]);
            assert_eq!((ran.status, ran.out.as_str()), (0, "ok\n"), "{ran:?}");
            let named = calls
                .split(',')
                .any(|name| ran.err.contains(&format!("calls {name}")));
            assert!(named, "{library}: {ran:?}");
        }
    }
}

//! Programs that keep their own malloc: a sanitizer's, or an allocator called by its own names.

use std::path::Path;
use std::process::Command;

use crate::support::live::{machine, skip};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

/// Started by hugectl, or by a shell that hugectl started.
const STARTERS: [&[&str]; 2] = [&[], &["sh", "-c", "\"$0\" \"$@\""]];

fn run(options: &[&str], start: &[&str], program: &Path, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.env("ASAN_OPTIONS", "symbolize=0");
    command.args(options).args(start).arg(program).args(args);
    command.ran()
}

#[test]
fn a_sanitizer_keeps_its_malloc() {
    let Some(live) = machine("sanitizers") else {
        return;
    };
    live.set_pool(40);
    for sanitizer in ["address", "thread", "leak"] {
        let flag = format!("-fsanitize={sanitizer}");
        let Some(program) = build("checked", Libc::Glibc, &[&flag]) else {
            return;
        };
        let all = ["--heap", "--shm", "--text", "--data", "--bss"];
        for (options, start) in [(&all[..1], STARTERS[1]), (&all, STARTERS[0])] {
            let what = format!("{sanitizer} {options:?}");
            let ran = run(options, start, &program, &[]);
            assert_eq!((ran.status, &*ran.out), (0, "7 7\n"), "{what}: {ran:?}");
            let kept = ran.err.matches("the heap stays as it is").count();
            assert_eq!(kept, 1, "{what}: {ran:?}");
            if sanitizer == "address" {
                let ran = run(options, start, &program, &["overflow"]);
                let found = ran.err.contains("heap-buffer-overflow");
                assert!(ran.status == 1 && found, "{what}: {ran:?}");
            }
        }
    }
    assert_eq!(live.wait_for_free_pages(40), 40);
}

#[test]
fn an_allocator_with_its_own_names_is_kept() {
    for (library, names) in [
        ("jemalloc", ["rallocx", "dallocx"]),
        ("mimalloc", ["mi_malloc", "mi_free"]),
        ("tcmalloc_minimal", ["tc_malloc", "tc_free"]),
    ] {
        let found = Command::new("sh")
            .args(["-c", &format!("ls /usr/lib/*/lib{library}.so")])
            .output();
        if !found.unwrap().status.success() {
            skip(library, "it is not installed").unwrap_or(());
            continue;
        }
        let (define, link) = (format!("-D{library}"), format!("-l{library}"));
        let flags = ["-fno-builtin", &define, "-Wl,--no-as-needed", &link];
        let Some(program) = build("mixed_api", Libc::Glibc, &flags) else {
            return;
        };
        for start in STARTERS {
            let ran = run(&["--heap"], start, &program, &[]);
            assert_eq!((ran.status, ran.out.as_str()), (0, "ok\n"), "{ran:?}");
            let is_named = |name: &str| ran.err.contains(&format!("calls {name}"));
            assert!(names.into_iter().any(is_named), "{library}: {ran:?}");
        }
    }
}

/// The malloc calls glibc's internal names. If these were ours, it would call itself.
#[test]
fn a_malloc_over_glibcs_internal_names_is_kept() {
    let flags = ["-DLIBRARY", "-shared", "-fPIC", "-fno-builtin"];
    let Some(library) = build("over_glibc", Libc::Glibc, &flags) else {
        return;
    };
    let link = library.to_str().unwrap();
    let flags = ["-fno-builtin", "-Wl,--no-as-needed", link];
    let Some(program) = build("over_glibc", Libc::Glibc, &flags) else {
        return;
    };
    for start in STARTERS {
        let ran = run(&["--heap=thp"], start, &program, &[]);
        assert_eq!((ran.status, ran.out.as_str()), (0, "ok\n"), "{ran:?}");
        assert!(ran.err.contains("calls rpmalloc"), "{ran:?}");
    }
}

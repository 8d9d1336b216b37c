//! `--require`: refused starts and failed requests, with the figure and the reason.
#![expect(clippy::disallowed_methods, reason = "reads a report")]

mod private;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::live::{machine, skip_aloud};
use crate::support::program::{Libc, build, build_as};
use crate::support::tool::{Ran, Run, copy, tool, write};

/// What `segments.c` prints.
const OUTPUT: &str = "sum 2\n";

fn hugectl(options: &str, program: &Path, arguments: &str) -> Ran {
    let mut command = tool("hugectl");
    command.env("PATH", "/usr/bin:/bin");
    command.args(options.split_whitespace()).arg(program);
    command.args(arguments.split_whitespace());
    command.stdin(std::process::Stdio::null());
    command.ran()
}

/// Asserts that hugectl prints one error line with these parts and does not start the program.
fn assert_refused(options: &str, program: &Path, arguments: &str, parts: &[&str]) {
    for quiet in ["", "-q "] {
        let ran = hugectl(&format!("{quiet}{options}"), program, arguments);
        assert_eq!(
            (ran.status, ran.out.as_str()),
            (125, ""),
            "{options} {ran:?}"
        );
        let errors = ran.err.lines().filter(|line| line.contains(" error: "));
        let [line] = errors.collect::<Vec<_>>()[..] else {
            panic!("{options}: {ran:?}");
        };
        for part in parts {
            assert!(line.contains(part), "{options}: {part}: {ran:?}");
        }
    }
}

fn assert_starts(options: &str, program: &Path, arguments: &str, out: &str) {
    let ran = hugectl(options, program, arguments);
    let ended = (ran.status, ran.out.as_str(), ran.err.contains("error: "));
    assert_eq!(ended, (0, out, false), "{options}: {ran:?}");
}

fn unaligned_segments() -> Option<PathBuf> {
    build("segments", Libc::Glibc, &["-fno-pie", "-no-pie"])
}

/// Links a program with ld.hugetlbfs.
fn linked(name: &str) -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ld.hugetlbfs");
    fs::create_dir_all(&dir).unwrap();
    // Fails if another test has created the link.
    let _ = symlink(env!("CARGO_BIN_EXE_ld-hugetlbfs"), dir.join("ld"));
    // ld.hugetlbfs links with the library, found here if it is not installed.
    let library = Path::new(env!("HUGETOOLS_PRELOAD")).parent().unwrap();
    let library = format!("-L{}", library.display());
    let flags = [
        "-B",
        dir.to_str().unwrap(),
        "-Wl,--hugetlbfs-align",
        &library,
    ];
    build_as(&format!("{name}-linked"), name, Libc::Glibc, &flags)
}

#[test]
fn a_relinked_program_meets_text() {
    let Some(live) = machine("required text") else {
        return;
    };
    live.set_pool(40);
    let (Some(small), Some(linked), Some(small_linked)) = (
        build("explained", Libc::Glibc, &[]),
        linked("segments"),
        linked("explained"),
    ) else {
        return;
    };
    let parts = [
        "--require=text:90 is not met: 0 of ",
        "(0.0%)",
        "no whole 2MB page",
    ];
    assert_refused("--require=text:90,heap", &small, "heap 1", &parts);
    assert_refused("--require=text", &small, "heap 1", &["no whole 2MB page"]);
    assert_starts("--require=text:90,heap", &linked, "", OUTPUT);
    assert_starts(
        "--text=2MB --require=text:90,data,bss,heap",
        &linked,
        "",
        OUTPUT,
    );
    // Relinked segments fill whole huge pages.
    assert_starts("--require=text:100,data,bss", &linked, "", OUTPUT);
    // With ASLR, 1 start in 512 puts the brk heap into bss's last huge page: it keeps base pages.
    let options = "--require=text:100,data:100,bss:100";
    let is_started = |_| hugectl(options, &small_linked, "heap 1").status == 0;
    assert!((0..3).any(is_started), "{options}");
    // No page is left for data and bss.
    live.set_pool(3);
    let short = "--require=text,data:100 --fallback=base";
    let parts = ["--require=data:100 is not met: 0 of "];
    assert_refused(short, &small_linked, "heap 1", &parts);
}

/// Without a percentage, only text in whole huge pages is required.
#[test]
fn file_thp_meets_text() {
    let name = "file THP for required text";
    let Some(live) = machine(name) else {
        return;
    };
    live.set_pool(0);
    let Some(linked) = linked("segments") else {
        return;
    };
    // A new file, which no other process maps.
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("segments");
    copy(linked, &program);
    let err = hugectl("-v --text --fallback=base", &program, "").err;
    if err.contains("its file system keeps it on base pages") {
        return skip_aloud("the file system has no huge pages");
    }
    assert_starts("--require=text --fallback=base", &program, "", OUTPUT);
    let explained = hugectl("--explain --require=text --fallback=base", &program, "");
    assert_eq!(explained.status, 0, "{explained:?}");
}

/// If another program starts it, only the preloaded library can measure a program's segments.
#[test]
fn a_pool_with_one_page_too_few_is_refused() {
    let Some(live) = machine("required data and bss") else {
        return;
    };
    let Some(program) = unaligned_segments() else {
        return;
    };
    let direct = "--require=data,bss --fallback=base";
    let through_env = format!("--only=segments-Glibc-fno-pie-no-pie {direct}");
    let (env, argument) = (Path::new("/usr/bin/env"), program.to_str().unwrap());
    for (pages, is_met) in [(11, true), (10, false)] {
        live.set_pool(pages);
        match is_met {
            true => {
                assert_starts(direct, &program, "", OUTPUT);
                assert_starts(&through_env, env, argument, OUTPUT);
            }
            false => {
                let parts = ["--require=bss is not met: ", " of 163", "kB", "%"];
                assert_refused(direct, &program, "", &parts);
                let parts = [parts[0], parts[1], "is not started", "(87.4%)"];
                assert_refused(&through_env, env, argument, &parts);
            }
        }
        assert_eq!(live.wait_for_free_pages(pages), pages);
    }
    // Without --fallback=base, transparent huge pages count, too.
    assert_starts("-q --require=data,bss", &program, "", OUTPUT);
}

#[test]
fn a_program_that_cannot_load_the_library_is_refused() {
    let Some(live) = machine("programs without the library") else {
        return;
    };
    live.set_pool(40);
    let (Some(explained), Some(segments)) = (
        build("explained", Libc::Glibc, &["-static"]),
        build("segments", Libc::Glibc, &["-static"]),
    ) else {
        return;
    };
    assert_refused(
        "--require=heap",
        &explained,
        "heap 1",
        &["--require=heap is not met: "],
    );
    assert_refused(
        "--require=shm",
        &explained,
        "mmap 4",
        &["the program is static"],
    );
    assert_refused("--require=data", &segments, "", &["the program is static"]);
    let Some(program) = unaligned_segments() else {
        return;
    };
    let env = Path::new("/usr/bin/env");
    let arguments = format!("-i {}", program.display());
    let parts = ["--require=data is not met: env starts its program without"];
    assert_refused("--require=data", env, &arguments, &parts);
    let only = "--require=data --only=segments-Glibc-fno-pie-no-pie";
    let parts = ["--require=data is not met: env starts its program without"];
    assert_refused(only, env, &arguments, &parts);
}

/// Counts the errors that heaps reported.
fn heap_errors(ran: &Ran) -> usize {
    let error = "error: --require=heap is not met: ";
    ran.err.matches(error).count()
}

#[test]
fn malloc_fails_once_the_pool_is_empty() {
    let Some(live) = machine("a required heap") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("required", libc, &[]) else {
            return;
        };
        live.set_pool(30);
        for quiet in ["", "-q "] {
            let options = format!("{quiet}--require=heap");
            let ran = hugectl(&options, &program, "150");
            assert_eq!(
                (ran.status, ran.out.as_str()),
                (0, "parent: NULL, ENOMEM\n"),
                "{ran:?}"
            );
            assert_eq!(heap_errors(&ran), 1, "{ran:?}");
            assert!(
                ran.err.contains("more: the pool has no free page"),
                "{ran:?}"
            );
            assert_starts(&options, &program, "20", "parent: all\n");
        }
        // A fork inherits the requirement, an executed program does not.
        let ran = hugectl("-q --require=heap", &program, "150 fork");
        let out = "child: NULL, ENOMEM\nparent: NULL, ENOMEM\n";
        assert_eq!(
            (ran.status, ran.out.as_str(), heap_errors(&ran)),
            (0, out, 2),
            "{ran:?}"
        );
        let ran = hugectl("-q --require=heap", &program, "150 exec");
        let out = "parent: all\nparent: NULL, ENOMEM\n";
        assert_eq!(
            (ran.status, ran.out.as_str(), heap_errors(&ran)),
            (0, out, 1),
            "{ran:?}"
        );
        // A fork moves the memory off the pool, which is reported in spite of -q.
        let ran = hugectl("-q --require=heap", &program, "40 later");
        let moved = "MiB moved off pool pages before a fork";
        assert_eq!(
            (ran.status, ran.out.as_str()),
            (0, "parent: all\n"),
            "{ran:?}"
        );
        assert_eq!(ran.err.matches(moved).count(), 1, "{ran:?}");
        assert_eq!(live.wait_for_free_pages(30), 30);
        // The pool's 60 MB are more than 20 % of 150.
        assert_starts("-q --require=heap:20", &program, "150", "parent: all\n");
        let ran = hugectl("-q --require=heap:60", &program, "300");
        assert_eq!(ran.out, "parent: NULL, ENOMEM\n", "{ran:?}");
        live.set_pool(0);
        let parts = [
            "--require=heap is not met: the pool of 2MB pages is empty",
            "hugeadm",
        ];
        assert_refused("--require=heap", &program, "1", &parts);
        assert_starts("--require=heap --heap=thp", &program, "60", "parent: all\n");
    }
}

#[test]
fn shared_memory_fails_without_fallback() {
    let Some(live) = machine("required shared memory") else {
        return;
    };
    let Some(program) = build("explained", Libc::Glibc, &[]) else {
        return;
    };
    live.set_pool(20);
    for kind in ["mmap", "sysv"] {
        assert_starts("--require=shm", &program, &format!("{kind} 40"), "");
        for quiet in ["", "-q"] {
            let options = format!("{quiet} --require=shm");
            let ran = hugectl(&options, &program, &format!("{kind} 42"));
            assert_eq!(ran.status, 1, "{ran:?}");
            let error = "libhugetlbfs: error: --require=shm is not met: ";
            assert_eq!(ran.err.matches(error).count(), 1, "{ran:?}");
            assert!(
                ran.err
                    .contains("21 pages of 2MB are needed, 20 are free; the request fails"),
                "{ran:?}"
            );
        }
    }
    live.set_pool(0);
    assert_refused(
        "--require=shm",
        &program,
        "mmap 4",
        &["the pool of 2MB pages is empty"],
    );
}

#[test]
fn the_report_contains_the_result() {
    let Some(live) = machine("reports of --require") else {
        return;
    };
    let (Some(program), Some(segments)) =
        (build("required", Libc::Glibc, &[]), unaligned_segments())
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let report = |options: &str, program: &Path, arguments: &str| -> Value {
        let _ = fs::remove_file(&file);
        let options = format!("-q --report={} {options}", file.display());
        hugectl(&options, program, arguments);
        let text = fs::read_to_string(&file).unwrap();
        let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        line["required"].clone()
    };
    live.set_pool(30);
    for (mib, met) in [("40", true), ("150", false)] {
        let required = report("--require=heap", &program, mib);
        assert_eq!(required[0]["segment"], "heap", "{required}");
        assert_eq!(required[0]["met"], met, "{required}");
        assert_eq!(required[0]["percent"], Value::Null, "{required}");
    }
    let required = report("--require=bss,data:50", &segments, "");
    assert_eq!(required[0]["met"], true, "{required}");
    assert_eq!(required[0]["percent"], 50, "{required}");
    assert_eq!(required[1]["huge"], required[1]["bytes"], "{required}");
}

#[test]
fn set_user_id_and_foreign_programs_are_refused() {
    let Some(live) = machine("set-user-ID and foreign programs") else {
        return;
    };
    live.set_pool(20);
    let Some(program) = build("explained", Libc::Glibc, &[]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (secure, foreign) = (dir.path().join("secure"), dir.path().join("foreign"));
    copy(&program, &secure);
    std::os::unix::fs::chown(&secure, Some(65534), Some(65534)).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    fs::set_permissions(&secure, mode).unwrap();
    // e_machine: MIPS.
    let mut bytes = fs::read(&program).unwrap();
    bytes[18..20].copy_from_slice(&[8, 0]);
    write(&foreign, &bytes);
    fs::set_permissions(
        &foreign,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let is_not_met = "--require=heap is not met: ";
    assert_refused(
        "--require=heap",
        &secure,
        "heap 1",
        &[is_not_met, "is set-user-id"],
    );
    assert_refused(
        "--require=heap",
        &foreign,
        "heap 1",
        &[is_not_met, "our libraries are for"],
    );
    // Started by another program, too.
    assert_refused(
        "--require=heap",
        Path::new("/usr/bin/nice"),
        secure.to_str().unwrap(),
        &[is_not_met, "/secure is set-user-id"],
    );
}

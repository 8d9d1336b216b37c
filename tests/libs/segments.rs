//! Text, data and bss on huge pages: bit-identical results, and whole huge pages are huge.
#![expect(clippy::disallowed_methods, reason = "reads a report")]

mod filters;
mod share;
mod stack;
mod text_copy;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use crate::libs::smaps::segment_pages::SegmentPages;
use crate::support::live::{machine, skip};
use crate::support::open_ended;
use crate::support::program::{Libc, build};
use crate::support::running::Running;
use crate::support::tool::{Ran, Run, tool};

/// Returns the results of `stream`.
fn result(ran: &Ran) -> &str {
    ran.out
        .lines()
        .find(|line| line.starts_with("result"))
        .unwrap()
}

fn plain(program: &Path) -> Ran {
    let ran = Command::new(program).ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    ran
}

fn under_hugectl(program: &Path, options: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    let ran = command.args(options).arg(program).ran();
    assert_eq!(ran.status, 0, "{options:?} {ran:?}");
    ran
}

/// Asserts that all three segments are huge, and checks the kilobytes of the pool.
fn assert_huge(ran: &Ran, pool: impl Fn(u64) -> bool) {
    let parts = ["text", "data", "bss"].map(|segment| SegmentPages::find(&ran.out, segment));
    for part in parts {
        assert!(part.whole > 0 && part.is_huge(), "{ran:?}");
    }
    let from_pool = parts.iter().map(|part| part.pool).sum();
    assert!(pool(from_pool), "{from_pool} kB: {ran:?}");
}

#[test]
fn segments_of_an_ordinary_program() {
    let Some(live) = machine("text, data and bss") else {
        return;
    };
    for (libc, flags) in [
        (Libc::Glibc, &["-fPIE", "-pie"][..]),
        (Libc::Glibc, &["-fno-pie", "-no-pie"]),
        (Libc::Musl, &[]),
    ] {
        let Some(program) = build("stream", libc, flags) else {
            return;
        };
        let expected = plain(&program);
        let whole = |ran: &Ran, segment| SegmentPages::find(&ran.out, segment).whole;
        let arrays = 120_000_000 / 1024;
        assert!(
            whole(&expected, "bss") + (4 << 10) >= arrays,
            "{expected:?}"
        );
        for pages in [0, 25, 100] {
            live.set_pool(pages);
            let ran = under_hugectl(&program, &["--text=2MB", "--data=2MB", "-q"]);
            assert_eq!(result(&ran), result(&expected));
            // Measured in this run: at other addresses there is one whole page more or less.
            let whole_kb = ["text", "data", "bss"].map(|segment| whole(&ran, segment));
            assert_huge(&ran, |kb| match pages {
                100 => kb * 100 >= whole_kb.iter().sum::<u64>() * 99,
                _ => kb == pages * 2048,
            });
            assert_eq!(live.wait_for_free_pages(pages), pages, "{ran:?}");
        }
    }
}

#[test]
fn hugetlb_elfmap_without_hugectl() {
    let Some(live) = machine("HUGETLB_ELFMAP") else {
        return;
    };
    live.set_pool(100);
    let Some(program) = build("stream", Libc::Glibc, &[]) else {
        return;
    };
    let expected = plain(&program);
    let preload = |elfmap: &str| -> Ran {
        let mut command = Command::new(&program);
        command
            .env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"))
            .env("HUGETLB_ELFMAP", elfmap);
        command.ran()
    };
    let ran = preload("RW");
    assert_eq!((ran.err.as_str(), result(&ran)), ("", result(&expected)));
    assert_huge(&ran, |kb| kb > 115 << 10);
    let ran = preload("R=thp:W=thp");
    assert_eq!((ran.err.as_str(), result(&ran)), ("", result(&expected)));
    assert_huge(&ran, |kb| kb == 0);
    for (odd, warning) in [
        (
            "RW=lots",
            "libhugetlbfs: warning: the value of HUGETLB_ELFMAP is invalid, wholly or in part; \
             see libhugetlbfs(7)\n",
        ),
        ("no", ""),
    ] {
        let ran = preload(odd);
        assert_eq!(
            (ran.err.as_str(), result(&ran)),
            (warning, result(&expected))
        );
        let bss = SegmentPages::find(&ran.out, "bss");
        assert_eq!(bss.huge(), 0, "{ran:?}");
    }
}

/// Returns the huge bytes of a segment in a line of the report.
fn reported(line: &str, segment: &str, program: &Path) -> u64 {
    let report: serde_json::Value = serde_json::from_str(line).unwrap();
    let rows = report["segments"].as_array().unwrap();
    let ours = rows.iter().filter(|row| {
        row["segment"] == segment && row["object"].as_str().map(Path::new) == Some(program)
    });
    let huge = ours.flat_map(|row| row["huge"].as_object().unwrap().values());
    huge.map(|bytes| bytes.as_u64().unwrap()).sum()
}

#[test]
fn the_report_equals_smaps() {
    let Some(live) = machine("the report of segments") else {
        return;
    };
    live.set_pool(100);
    let Some(program) = build("stream", Libc::Glibc, &["-fno-pie", "-no-pie"]) else {
        return;
    };
    let program = program.canonicalize().unwrap();
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = scratch.path().join("report");
    let option = format!("--report={}", file.display());
    let ran = under_hugectl(&program, &["--text", "--data", "-q", &option]);
    let report = fs::read_to_string(&file).unwrap();
    for segment in ["text", "data", "bss"] {
        let found = reported(&report, segment, &program);
        let part = SegmentPages::find(&ran.out, segment);
        // One huge page may hold data and bss.
        let difference = found.abs_diff(part.huge() << 10);
        assert!(
            difference <= 2 << 20,
            "{segment}: {found} {part:?} {report}"
        );
    }
    let sum = |of: &dyn Fn(&str) -> u64| ["text", "data", "bss"].into_iter().map(of).sum::<u64>();
    let found = sum(&|segment| reported(&report, segment, &program));
    let measured = sum(&|segment| SegmentPages::find(&ran.out, segment).huge());
    assert_eq!(found, measured << 10, "{report} {ran:?}");
}

/// Eight processes at once, again and again, with a pool for two of them.
#[test]
fn many_starts_with_too_small_a_pool() {
    let Some(live) = machine("many starts") else {
        return;
    };
    live.set_pool(40);
    let Some(program) = build("stream", Libc::Glibc, &["-DN=1000000"]) else {
        return;
    };
    let expected = plain(&program);
    let descriptors = "ls /proc/self/fd | wc -l";
    let end = Instant::now() + open_ended::duration();
    let starts = AtomicU32::new(0);
    let one = || {
        while Instant::now() < end {
            let options = ["--text", "--data", "--bss", "--heap", "-q"];
            let ran = under_hugectl(&program, &options);
            assert_eq!(result(&ran), result(&expected), "{ran:?}");
            starts.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(one);
        }
    });
    assert!(starts.into_inner() >= 8);
    assert_eq!(live.wait_for_free_pages(40), 40);
    let mut command = tool("hugectl");
    let options = ["--text", "--data", "--bss", "--heap", "-q", "sh", "-c"];
    let huge = command.args(options).arg(descriptors).ran();
    let bare = Command::new("sh").args(["-c", descriptors]).ran();
    assert_eq!(huge.out, bare.out, "a descriptor is left open");
}

/// Unwinding works in moved text.
#[test]
fn exceptions_backtraces_and_libraries() {
    let Some(live) = machine("frames") else {
        return;
    };
    live.set_pool(20);
    let flags = ["-g", "-fno-pie", "-no-pie", "-ldl"];
    let Some(program) = build("frames", Libc::Glibc, &flags) else {
        return;
    };
    let expected = plain(&program);
    let hugectl = tool("hugectl").get_program().to_owned();
    for option in ["--text=2MB", "--text=thp", "--text"] {
        let ran = under_hugectl(&program, &[option, "--data", "-q"]);
        assert_eq!(ran, expected, "{option}");
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch", "-ex", "run", "-ex", "bt", "--args"]);
        gdb.arg(&hugectl).args(["-q", option, "--data"]);
        let Ok(output) = gdb.arg(&program).arg("abort").output() else {
            return skip("a debugger", "there is no gdb").unwrap_or(());
        };
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let frames = ["deepest (n=", "deep (n=", "shallow (n=", "main (argc="];
        let found = frames.map(|frame| out.find(&format!(" in {frame}")));
        assert!(found.iter().all(Option::is_some), "{option}: {out}");
        assert!(found.is_sorted(), "{option}: {out}");
    }
}

/// perf finds the symbols of text that is no longer mapped from a file.
#[test]
fn perf_map_names_moved_text() {
    let Some(live) = machine("the list for perf") else {
        return;
    };
    live.set_pool(20);
    let flags = ["-DN=100000", "-fPIE", "-pie"];
    let Some(program) = build("stream", Libc::Glibc, &flags) else {
        return;
    };
    for option in ["--text=2MB", "--text=thp"] {
        let mut command = tool("hugectl");
        command
            .args(["--perf-map", "-q", option])
            .arg(&program)
            .arg("stay");
        let mut running = Running::start(&mut command);
        running.skip_to("bss");
        let list = format!("/tmp/perf-{}.map", running.id());
        let text = fs::read_to_string(&list).unwrap();
        fs::remove_file(&list).unwrap();
        let maps = fs::read_to_string(format!("/proc/{}/maps", running.id())).unwrap();
        assert_eq!(running.end().status, 0);
        let line = text.lines().find(|line| line.contains(" triad")).unwrap();
        let start = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
        let mapping = maps.lines().find(|line| {
            let range = line.split(' ').next().unwrap().split_once('-').unwrap();
            let addr = |text| u64::from_str_radix(text, 16).unwrap();
            (addr(range.0)..addr(range.1)).contains(&start)
        });
        let mapping = mapping.unwrap();
        assert!(
            mapping.contains(" r-xp ") && !mapping.contains("stream"),
            "{option} {mapping}"
        );
    }
}

#[test]
fn segments_that_stay_on_base_pages_are_reported_once() {
    let Some(live) = machine("segments that fall short") else {
        return;
    };
    live.set_pool(0);
    let Some(program) = build("stream", Libc::Glibc, &["-fno-pie", "-no-pie"]) else {
        return;
    };
    // THP set to always would make them huge.
    let ran = live.hugeadm(&["--thp-always"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    for options in [
        &["--thp-policy=never", "--data"][..],
        &["--data", "--fallback=base"],
        &["--bss=thp", "--fallback=base"],
    ] {
        let ran = under_hugectl(&program, options);
        assert_eq!(ran.err.lines().count(), 1, "{options:?} {ran:?}");
        assert_eq!(
            SegmentPages::find(&ran.out, "bss").huge(),
            0,
            "{options:?} {ran:?}"
        );
    }
}

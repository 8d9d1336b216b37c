//! Code, data and bss on huge pages, in place: results stay the same to the
//! bit, and what lies in whole huge pages is on huge pages.
#![expect(clippy::disallowed_methods, reason = "reads a report")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::parts::Part;
use crate::support::live::machine;
use crate::support::long;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// The line with the results of `stream`.
fn result(ran: &Ran) -> &str {
    ran.out
        .lines()
        .find(|line| line.starts_with("result"))
        .unwrap()
}

fn plain(program: &Path) -> Ran {
    let ran: Ran = Command::new(program).output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    ran
}

fn under_hugectl(program: &Path, options: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    let ran: Ran = command.args(options).arg(program).output().unwrap().into();
    assert_eq!(ran.status, 0, "{options:?} {ran:?}");
    ran
}

/// Holds all three segments to it, and what comes from the pool.
fn assert_huge(ran: &Ran, pool: impl Fn(u64) -> bool) {
    let parts = ["text", "data", "bss"].map(|segment| Part::find(&ran.out, segment));
    for part in parts {
        assert!(part.whole > 0 && part.is_huge(), "{ran:?}");
    }
    let from_pool = parts.iter().map(|part| part.pool).sum();
    assert!(pool(from_pool), "{from_pool} kB: {ran:?}");
}

#[test]
fn a_program_as_it_is() {
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
        let whole = |segment| Part::find(&expected.out, segment).whole;
        let arrays = 480_000_000 / 1024;
        assert!(whole("bss") * 100 >= arrays * 99, "{expected:?}");
        for pages in [0, 100, 300] {
            live.set_pool(pages);
            let ran = under_hugectl(&program, &["--text=2MB", "--data=2MB", "-q"]);
            assert_eq!(result(&ran), result(&expected));
            assert_huge(&ran, |kb| match pages {
                300 => kb * 100 >= (whole("text") + whole("data") + whole("bss")) * 99,
                _ => kb == pages * 2048,
            });
            assert_eq!(live.free_pages(), pages, "{ran:?}");
        }
    }
}

#[test]
fn a_variable_alone_or_transparent_pages_alone() {
    let Some(live) = machine("HUGETLB_ELFMAP") else {
        return;
    };
    live.set_pool(300);
    let Some(program) = build("stream", Libc::Glibc, &[]) else {
        return;
    };
    let expected = plain(&program);
    let preload = |elfmap: &str| -> Ran {
        let mut command = Command::new(&program);
        command
            .env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"))
            .env("HUGETLB_ELFMAP", elfmap);
        command.output().unwrap().into()
    };
    let ran = preload("RW");
    assert_eq!((ran.err.as_str(), result(&ran)), ("", result(&expected)));
    assert_huge(&ran, |kb| kb > 460 << 10);
    let ran = preload("R=thp:W=thp");
    assert_eq!((ran.err.as_str(), result(&ran)), ("", result(&expected)));
    assert_huge(&ran, |kb| kb == 0);
    for (odd, warning) in [
        (
            "RW=lots",
            "libhugetlbfs: WARNING: the value of HUGETLB_ELFMAP is not understood in full; \
             see libhugetlbfs(7)\n",
        ),
        ("no", ""),
    ] {
        let ran = preload(odd);
        assert_eq!(
            (ran.err.as_str(), result(&ran)),
            (warning, result(&expected))
        );
        let bss = Part::find(&ran.out, "bss");
        assert_eq!(bss.huge(), 0, "{ran:?}");
    }
}

/// How many bytes a report says are huge, by its own line of JSON.
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
fn the_report_says_what_the_kernel_says() {
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
        let part = Part::find(&ran.out, segment);
        // The huge page that holds data and bss counts as both here and there.
        let difference = found.abs_diff(part.huge() << 10);
        assert!(
            difference <= 2 << 20,
            "{segment}: {found} {part:?} {report}"
        );
    }
    let sum = |of: &dyn Fn(&str) -> u64| ["text", "data", "bss"].into_iter().map(of).sum::<u64>();
    let found = sum(&|segment| reported(&report, segment, &program));
    let judged = sum(&|segment| Part::find(&ran.out, segment).huge());
    assert_eq!(found, judged << 10, "{report} {ran:?}");
}

/// Eight processes at once, over and over, with a pool that holds two of them.
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
    let end = Instant::now() + long::length();
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
    assert_eq!(live.free_pages(), 40);
    let mut command = tool("hugectl");
    let options = ["--text", "--data", "--bss", "--heap", "-q", "sh", "-c"];
    let huge: Ran = command
        .args(options)
        .arg(descriptors)
        .output()
        .unwrap()
        .into();
    let bare: Ran = Command::new("sh")
        .args(["-c", descriptors])
        .output()
        .unwrap()
        .into();
    assert_eq!(huge.out, bare.out, "a descriptor is left open");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// What a start costs more when it moves 96 MiB, against copying them in a
/// program that does so by itself.
#[test]
fn moving_costs_little_more_than_copying() {
    let Some(live) = machine("the cost of moving") else {
        return;
    };
    live.set_pool(60);
    let Some(program) = build("remap", Libc::Glibc, &[]) else {
        return;
    };
    let start = |elfmap: &str, args: &[&str]| {
        let mut command = Command::new(&program);
        command
            .args(args)
            .env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"))
            .env("HUGETLB_ELFMAP", elfmap);
        let begin = Instant::now();
        let ran: Ran = command.output().unwrap().into();
        let time = begin.elapsed();
        assert_eq!((ran.status, ran.err.as_str()), (0, ""));
        (time, ran.out)
    };
    let measure = |elfmap: &str, pages: &str| {
        let mut moved = Vec::new();
        let mut copied = Vec::new();
        for _ in 0..15 {
            let without = start("no", &[]).0;
            moved.push(start(elfmap, &[]).0.saturating_sub(without));
            let microseconds = start("no", &[pages]).1.trim().parse().unwrap();
            copied.push(Duration::from_micros(microseconds));
        }
        (median(moved), median(copied))
    };
    for (elfmap, pages) in [("W", "pool"), ("W=thp", "thp")] {
        let all: Vec<_> = (0..3).map(|_| measure(elfmap, pages)).collect();
        let is_enough = |(moved, copied): &(Duration, Duration)| {
            *moved <= copied.mul_f64(1.3) + Duration::from_micros(200)
        };
        assert!(all.iter().any(is_enough), "{elfmap}: {all:?}");
    }
}

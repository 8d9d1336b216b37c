use super::*;
use crate::args;
use hugetools_contract::segment::Segment;

fn request(line: &str) -> Result<Request, Failure> {
    let words = std::iter::once("hugectl").chain(line.split(' ').filter(|w| !w.is_empty()));
    Request::from_args(args::parse(words.map(OsString::from)).unwrap())
}

pub(crate) fn run(line: &str) -> Run {
    match request(line).unwrap() {
        Request::Run(run) => run,
        _ => panic!("{line} starts a program"),
    }
}

#[test]
fn what_others_start_is_no_program_of_ours() {
    let Ok(Request::Emit(emit)) = request("--emit=systemd --shm no-such-unit") else {
        panic!("a unit")
    };
    assert_eq!((emit.kind, emit.run.command.len()), (EmitKind::Systemd, 0));
    assert_eq!(emit.name, Some("no-such-unit".into()));
    assert!(emit.run.dry_run);
    assert!(wrong("--emit=docker a b").contains("and not b"));
    assert!(wrong("--emit=docker --json a").contains("--json has no meaning"));
}

fn wrong(line: &str) -> String {
    let failure = request(line).unwrap_err();
    assert_eq!(failure.status(), 125, "{line}");
    failure.to_string()
}

#[test]
fn sizes_and_words() {
    assert_eq!(run("--heap x").heap, Some(Pages::Default));
    assert_eq!(run("--heap=2MiB x").heap, Some(Pages::Size(2 << 20)));
    assert_eq!(run("--heap=THP --shm=0x40000000 x").heap, Some(Pages::Thp));
    assert_eq!(run("--shm=0x40000000 x").shm, Some(Pages::Size(1 << 30)));
    assert_eq!(run("x").heap, None);
    assert_eq!(run("--fallback=base x").fallback, Some(Fallback::Base));
    assert!(run("--heap --fork=kernel x").kernel_fork && !run("--heap x").kernel_fork);
}

#[test]
fn segments_of_the_program() {
    let segments = |line| run(line).segments;
    let all = segments("--text=2MB --data --bss=thp --text-libs --share-text --no-reserve x");
    assert_eq!(all.text, Some(Pages::Size(2 << 20)));
    assert_eq!(
        (all.data, all.bss),
        (Some(Pages::Default), Some(Pages::Thp))
    );
    assert!(all.libraries && all.share_text && all.no_reserve && !all.perf_map && !all.off);
    assert!(segments("--perf-map x").perf_map);
    assert!(segments("--disable x").off && segments("--disable=yes x").off);
    assert_eq!(segments("x"), Segments::default());
    assert_eq!(
        wrong("--bss=big x"),
        "--bss=big: neither thp nor a page size, such as 2MB"
    );
    assert!(wrong("--status 1 --text-libs").contains("--text-libs has no meaning"));
}

#[test]
fn thp_and_heap_together() {
    assert_eq!(run("--thp x").heap, Some(Pages::Thp));
    assert_eq!(run("--thp --heap x").heap, Some(Pages::Thp));
    assert_eq!(run("--heap --thp x").heap, Some(Pages::Thp));
    assert_eq!(run("--heap=2M --thp x").heap, Some(Pages::Thp));
    assert_eq!(run("--thp --heap=2M x").heap, Some(Pages::Size(2 << 20)));
}

#[test]
fn what_is_required_is_asked_for() {
    let required = run("--require=text:90,heap x");
    assert_eq!(required.heap, Some(Pages::Default));
    assert_eq!(required.segments.text, Some(Pages::Default));
    assert_eq!((required.shm, required.segments.writable()), (None, None));
    assert_eq!(required.require.to_string(), "text:90,heap");
    // What is asked for already stays.
    assert_eq!(run("--heap=thp --require=heap x").heap, Some(Pages::Thp));
    let both = run("--bss=thp --require=data,bss x").segments;
    assert_eq!((both.data, both.bss), (None, Some(Pages::Thp)));
    let bss = run("--require=bss x").segments;
    assert_eq!((bss.data, bss.bss), (None, Some(Pages::Default)));
    assert!(wrong("--require=heap --no-preload x").starts_with("--require and --no-preload"));
    assert!(
        !run("--no-preload --force-preload --require=heap x")
            .require
            .has(Segment::Data)
    );
}

#[test]
fn odd_sizes_name_the_option() {
    assert_eq!(
        wrong("--heap=lots x"),
        "--heap=lots: neither thp nor a page size, such as 2MB"
    );
    assert_eq!(wrong("--shm=0 x"), "--shm=0: must not be zero");
    assert_eq!(
        wrong("--heap= x"),
        "--heap=: neither thp nor a page size, such as 2MB"
    );
    assert_eq!(
        wrong("--heap=99999999999T x"),
        "--heap=99999999999T: does not fit into 64 bits"
    );
    assert!(wrong("--heap=2mfoo x").starts_with("--heap=2mfoo: unknown unit"));
}

#[test]
fn what_has_no_meaning_together() {
    assert!(wrong("--status 1 --heap").contains("--heap has no meaning"));
    assert!(wrong("--status 1 --json prog").contains("prog has no meaning"));
    for option in ["--tree", "--sizes", "--totals", "--watch", "--watch=5"] {
        let name = option.split('=').next().unwrap();
        let line = format!("{option} prog");
        assert!(wrong(&line).starts_with(&format!("{name} needs --status")));
    }
    assert!(wrong("--status 1 --watch=0").starts_with("--watch=0: not a time"));
    assert!(wrong("--status a/b").contains("has no directory"));
    assert!(wrong("--sysroot / prog").starts_with("--sysroot needs"));
    assert!(wrong("--json prog").starts_with("--json needs"));
    assert!(wrong("--heap").starts_with("which program?"));
    assert!(wrong("--stack-depth prog").starts_with("--stack-depth=prog: not a size"));
    assert_eq!(
        wrong("--status 0"),
        "--status 0: not the number of a process"
    );
    assert_eq!(
        wrong("--status -5"),
        "--status -5: not the number of a process"
    );
}

#[test]
fn the_library_is_looked_for_where_was_said_last() {
    let library = |line| run(line).library;
    assert_eq!(library("x"), Library::Auto);
    assert_eq!(
        library("--library-use-path --library-path /p x"),
        Library::At("/p".into())
    );
    assert_eq!(
        library("--library-path /p --library-use-path x"),
        Library::ByName
    );
}

#[test]
fn reports_go_to_the_terminal_or_a_file() {
    assert_eq!(run("--report x").report, Some(ReportTo::Terminal));
    assert_eq!(run("--report=- --json x").report, Some(ReportTo::Terminal));
    assert_eq!(
        run("--report=a/b x").report,
        Some(ReportTo::File("a/b".into()))
    );
}

#[test]
fn verbosity_stays_within_its_bounds() {
    assert_eq!(verbosity(2, &[Step::Quieter; 5]), 0);
    assert_eq!(verbosity(98, &[Step::Louder; 5]), 99);
    assert_eq!(verbosity(2, &[Step::Exactly(7), Step::Louder]), 8);
}

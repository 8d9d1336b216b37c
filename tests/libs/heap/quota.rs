//! The share of a pool that one process takes (`--limit`), and a heap's return to the pool.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::libs::smaps::HeapPages;
use crate::libs::smaps::segment_pages::SegmentPages;
use crate::support::live::{Live, machine};
use crate::support::program::{Libc, build};
use crate::support::running::Running;
use crate::support::tool::{Ran, Run, tool};

/// Locks the machine, sets its pool and builds `steps.c`.
pub(super) fn machine_with_steps(test: &str, pages: u64) -> Option<(Live, PathBuf)> {
    let live = machine(test)?;
    let program = build("steps", Libc::Glibc, &[])?;
    live.set_pool(pages);
    Some((live, program))
}

fn hugectl(options: &str, program: &Path, args: &str) -> Command {
    let mut command = tool("hugectl");
    command.args(options.split_whitespace()).arg(program);
    command.args(args.split_whitespace());
    command
}

pub(super) fn run(options: &str, program: &Path, args: &str) -> Ran {
    let ran = hugectl(options, program, args).ran();
    assert_eq!(ran.status, 0, "{options} {args}: {ran:?}");
    ran
}

#[test]
fn a_process_takes_at_most_its_limit() {
    let Some((live, program)) = machine_with_steps("limit", 100) else {
        return;
    };
    let page = live.default_size().kib();
    for (limit, pages) in [("1/4", 25), ("1/64", 1), ("40MB", (40 << 10) / page)] {
        let options = format!("-v --heap --limit={limit} --report");
        let ran = run(&options, &program, "+400 =full");
        let full = HeapPages::find(&ran.out, "full");
        assert_eq!(full.hugetlb, pages * page, "{limit}: {ran:?}");
        assert!(ran.err.contains("(HUGETLB_LIMIT) is reached"), "{ran:?}");
        if live.can_use_thp() {
            let huge = full.share(full.hugetlb + full.thp);
            assert!(huge >= 90, "{ran:?}");
        }
        assert_eq!(live.wait_for_free_pages(100), 100, "{limit}");
    }
    // Without a fallback, malloc fails at the limit.
    let blocks = build("blocks", Libc::Glibc, &[]).unwrap();
    let mut command = hugectl("--heap --limit=1/4 --fallback=none", &blocks, "one 150");
    assert_eq!(Ran::from(command.output().unwrap()).status, 3);
    // A limit below one page gives none.
    live.set_pool(20);
    let ran = run("--heap --limit=1/64", &program, "+100 =full");
    assert_eq!(HeapPages::find(&ran.out, "full").hugetlb, 0, "{ran:?}");
    assert!(ran.err.contains("is less than a page of"), "{ran:?}");
}

#[test]
fn four_processes_share_a_pool() {
    let Some((live, program)) = machine_with_steps("fair shares", 100) else {
        return;
    };
    let page = live.default_size().kib();
    let options = "--heap --limit=1/4";
    let start = |()| Running::start(&mut hugectl(options, &program, "+200 =full ?"));
    for mut running in [(); 4].map(start) {
        let full = HeapPages::find(&running.line(), "full");
        assert_eq!(full.hugetlb, 25 * page);
        assert_eq!(running.end().status, 0);
    }
}

#[test]
fn text_and_data_count_together() {
    let Some((live, _)) = machine_with_steps("text, data and limit", 100) else {
        return;
    };
    let flags = ["-fno-pie", "-no-pie", "-DN=3000000"];
    let Some(program) = build("stream", Libc::Glibc, &flags) else {
        return;
    };
    let (size, page) = (live.default_size(), live.default_size().kib());
    let pages = |limit: u64| {
        let bytes = limit * page * 1024;
        let options = format!("-q --text={size} --data={size} --limit={bytes}");
        let ran = run(&options, &program, "");
        let pages = |part| SegmentPages::find(&ran.out, part).pool / page;
        (pages("text"), pages("data") + pages("bss"))
    };
    let (text, data) = pages(1000);
    assert!(text > 0 && data > 1 && text + data < 100, "{text} {data}");
    for limit in [text, text + data - 1] {
        assert_eq!(pages(limit), (text, limit - text));
        assert_eq!(live.wait_for_free_pages(100), 100);
    }
}

#[test]
fn pages_given_back_or_moved_by_a_fork_count_no_more() {
    let Some((live, program)) = machine_with_steps("limit, given back", 100) else {
        return;
    };
    let quarter = 25 * live.default_size().kib();
    for steps in [
        "+200 =first - t =none +200 =again",
        "+100 =first F =none +100 =again",
    ] {
        let ran = run("--heap --limit=1/4", &program, steps);
        let at = |what: &str| HeapPages::find(&ran.out, what).hugetlb;
        assert_eq!((at("first"), at("again")), (quarter, quarter), "{ran:?}");
        // Some of the first pages stay in use.
        assert!(at("none") <= quarter / 5, "{ran:?}");
    }
}

#[test]
fn a_pool_that_is_filled_later_is_used_later() {
    let Some((live, program)) = machine_with_steps("step up", 0) else {
        return;
    };
    let page = live.default_size().kib();
    let steps = "+100 =empty ? +300 =filled";
    let mut running = Running::start(&mut hugectl("--heap", &program, steps));
    assert_eq!(HeapPages::find(&running.line(), "empty").hugetlb, 0);
    live.set_pool(200);
    let ran = running.end();
    // The pool is tried again after at most 128 MiB.
    let filled = HeapPages::find(&ran.out, "filled").hugetlb;
    assert!(filled >= (300 - 128 - 10) << 10, "{ran:?}");
    assert!(filled <= 200 * page && ran.status == 0, "{ran:?}");
}

#[test]
fn a_parent_returns_to_the_pool_once() {
    let Some((live, program)) = machine_with_steps("step up after a fork", 200) else {
        return;
    };
    let steps = "+100 =first f =moved +60 =again w F =twice +100 =never";
    let ran = run("--heap", &program, steps);
    let at = |what: &str| HeapPages::find(&ran.out, what).hugetlb;
    assert!(at("first") >= 70 << 10, "{ran:?}");
    assert!(at("again") >= 50 << 10, "{ran:?}");
    for what in ["moved", "child", "twice", "never"] {
        assert_eq!(at(what), 0, "{what}: {ran:?}");
    }
    assert_eq!(live.wait_for_free_pages(200), 200);
}

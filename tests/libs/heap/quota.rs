//! How much of a pool one process takes, which processes take anything, and
//! when a heap that found the pool empty comes back to it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::libs::judge::Judged;
use crate::libs::judge::parts::Part;
use crate::support::live::{Live, machine};
use crate::support::program::{Libc, build, build_as};
use crate::support::tool::{Ran, tool};

/// The pool of the default size with so many pages, and the program.
fn live(test: &str, pages: u64) -> Option<(Live, PathBuf)> {
    let live = machine(test)?;
    let program = build("steps", Libc::Glibc, &[])?;
    live.set_pool(pages);
    Some((live, program))
}

fn hugectl(options: &str, program: &Path, steps: &str) -> Command {
    let mut command = tool("hugectl");
    command.args(options.split_whitespace()).arg(program);
    command.args(steps.split_whitespace());
    command
}

fn ran(options: &str, program: &Path, steps: &str) -> Ran {
    let ran: Ran = hugectl(options, program, steps).output().unwrap().into();
    assert_eq!(ran.status, 0, "{options} {steps}: {ran:?}");
    ran
}

#[test]
fn a_process_takes_no_more_than_its_limit() {
    let Some((live, program)) = live("limit", 100) else {
        return;
    };
    let page = live.default_size().kib();
    for (limit, pages) in [
        ("1/4", 25),
        ("1/64", 1),
        ("40MB", (40 << 10) / page),
        ("1GB", 100),
    ] {
        let options = format!("-v --heap --limit={limit} --report");
        let ran = ran(&options, &program, "+400 =full");
        let full = Judged::find(&ran.out, "full");
        assert_eq!(full.hugetlb, pages * page, "{limit}: {ran:?}");
        let said = "(HUGETLB_LIMIT); transparent huge pages follow";
        assert_eq!(ran.err.contains(said), pages < 100, "{limit}: {ran:?}");
        let report = ran.err.lines().find(|line| line.starts_with("heap "));
        let reason = "(the limit of this process (HUGETLB_LIMIT) is reached)";
        if live.thp_serves() && pages < 100 {
            assert!(full.share(full.hugetlb + full.thp) >= 90, "{ran:?}");
        }
        let at_limit = report.is_some_and(|line| line.contains(reason));
        let huge = full.share(full.hugetlb + full.thp) >= 99;
        assert!(at_limit || huge || pages == 100, "{limit}: {ran:?}");
        assert_eq!(live.free_pages_at_last(100), 100, "{limit}");
    }
}

#[test]
fn with_a_limit_of_less_than_a_page_none_is_taken() {
    let Some((_live, program)) = live("small limit", 20) else {
        return;
    };
    let ran = ran("--heap --limit=1/64", &program, "+100 =full");
    assert_eq!(Judged::find(&ran.out, "full").hugetlb, 0, "{ran:?}");
    assert!(ran.err.contains("is less than a page of"), "{ran:?}");
}

#[test]
fn without_a_next_rung_the_limit_is_the_end() {
    let Some((_live, _)) = live("limit, no fallback", 100) else {
        return;
    };
    let program = build("blocks", Libc::Glibc, &[]).unwrap();
    let mut command = hugectl("--heap --limit=1/4 --fallback=none", &program, "one 150");
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 3, "{ran:?}");
}

#[test]
fn many_processes_share_a_pool_fairly() {
    let Some((live, program)) = live("fair shares", 100) else {
        return;
    };
    let page = live.default_size().kib();
    let started: Vec<_> = (0..4)
        .map(|_| Talk::start(hugectl("--heap --limit=1/4", &program, "+200 =full ?")))
        .collect();
    for mut talk in started {
        assert_eq!(talk.judged("full").hugetlb, 25 * page);
        talk.go_on();
        talk.end();
    }
}

#[test]
fn text_and_data_count_together() {
    let Some((live, _)) = live("text, data and limit", 100) else {
        return;
    };
    let flags = ["-fno-pie", "-no-pie", "-DN=3000000"];
    let Some(program) = build("stream", Libc::Glibc, &flags) else {
        return;
    };
    let (size, page) = (live.default_size(), live.default_size().kib());
    let run = |limit: u64| {
        let options = format!(
            "-q --text={size} --data={size} --limit={}",
            limit * page * 1024
        );
        let ran = ran(&options, &program, "");
        let pages = |part| Part::find(&ran.out, part).pool / page;
        (pages("text"), pages("data") + pages("bss"))
    };
    let (text, data) = run(1000);
    assert!(text > 0 && data > 1 && text + data < 100, "{text} {data}");
    for limit in [1, text, text + 1, text + data - 1] {
        assert_eq!(run(limit), (limit.min(text), limit.saturating_sub(text)));
        assert_eq!(live.free_pages_at_last(100), 100);
    }
}

#[test]
fn data_counts_until_a_fork_moves_it() {
    let Some((live, _)) = live("data and limit", 100) else {
        return;
    };
    let large = ["-DSTATIC", "-no-pie", "-Wl,-z,max-page-size=0x200000"];
    let Some(program) = build_as("fork-static-limit", "fork", Libc::Glibc, &large) else {
        return;
    };
    let page = live.default_size().kib();
    for limit in [10, 30] {
        let options = format!("-v --data --limit={}", limit * page * 1024);
        let ran = ran(&options, &program, "parent 200 1");
        let before = Judged::find(&ran.out, "before");
        assert_eq!(before.hugetlb, limit * page, "{ran:?}");
        let said = "the limit of this process (HUGETLB_LIMIT) is reached";
        assert!(ran.err.contains(said), "{ran:?}");
        assert_eq!(live.free_pages_at_last(100), 100);
    }
}

#[test]
fn what_is_given_back_may_be_taken_again() {
    let Some((live, program)) = live("limit, given back", 100) else {
        return;
    };
    let page = live.default_size().kib();
    let steps = "+200 =first - =none +200 =again";
    let ran = ran("--heap --limit=1/4", &program, steps);
    let at = |what: &str| Judged::find(&ran.out, what).hugetlb;
    assert_eq!(
        (at("first"), at("again")),
        (25 * page, 25 * page),
        "{ran:?}"
    );
    // Of the heap's beginning some is always in use.
    assert!(at("none") <= 5 * page, "{ran:?}");
}

#[test]
fn after_a_fork_each_counts_what_it_has() {
    let Some((live, program)) = live("limit and fork", 100) else {
        return;
    };
    let page = live.default_size().kib();
    let steps = "+100 =first F =moved +100 =again";
    let ran = ran("--heap --limit=1/4", &program, steps);
    let at = |what: &str| Judged::find(&ran.out, what).hugetlb;
    assert_eq!((at("first"), at("moved")), (25 * page, 0), "{ran:?}");
    assert_eq!(at("again"), 25 * page, "{ran:?}");
}

#[test]
fn a_pool_that_is_filled_later_is_used_later() {
    let Some((live, program)) = live("step up", 0) else {
        return;
    };
    let page = live.default_size().kib();
    let steps = "+100 =empty ? +100 =little +200 =filled";
    let mut talk = Talk::start(hugectl("--heap", &program, steps));
    assert_eq!(talk.judged("empty").hugetlb, 0);
    live.set_pool(200);
    talk.go_on();
    talk.judged("little");
    // At the latest after 128 MiB the pool is asked again.
    let filled = talk.judged("filled").hugetlb;
    assert!(filled >= (300 - 128 - 10) << 10, "{filled}");
    assert!(filled <= 200 * page, "{filled}");
    talk.end();
}

#[test]
fn a_parent_comes_back_to_the_pool_when_its_child_has_ended() {
    let Some((live, program)) = live("step up after a fork", 200) else {
        return;
    };
    let steps = "+100 =first f =moved +60 =child_lives w +60 =alone F =twice +100 =never";
    let mut talk = Talk::start(hugectl("--heap", &program, steps));
    assert!(talk.judged("first").hugetlb >= 70 << 10);
    assert_eq!(talk.judged("moved").hugetlb, 0);
    assert_eq!(talk.judged("child_lives").hugetlb, 0);
    let alone = talk.judged("alone").hugetlb;
    assert!(alone >= 50 << 10, "{alone}");
    assert_eq!(talk.judged("child").hugetlb, 0);
    assert_eq!(talk.judged("twice").hugetlb, 0);
    assert_eq!(talk.judged("never").hugetlb, 0);
    talk.end();
    assert_eq!(live.free_pages_at_last(200), 200);
}

#[test]
fn only_the_named_programs_and_only_the_first_process() {
    let Some((_live, program)) = live("only", 100) else {
        return;
    };
    let name = program.file_name().unwrap().to_str().unwrap().to_owned();
    let shell = |options: &str, script: &str| -> Ran {
        let mut command = tool("hugectl");
        command.arg("--heap").args(options.split_whitespace());
        let script = script.replace("PROGRAM", program.to_str().unwrap());
        let ran: Ran = command.args(["sh", "-c", &script]).output().unwrap().into();
        assert_eq!(ran.status, 0, "{options}: {ran:?}");
        ran
    };
    let huge = |ran: &Ran, what: &str| Judged::find(&ran.out, what).hugetlb > 50 << 10;
    let child = "PROGRAM +80 =child; true";
    assert!(huge(&shell("", child), "child"));
    assert!(huge(&shell(&format!("--only=x,{name}"), child), "child"));
    assert!(!huge(&shell("--only=sh", child), "child"));
    assert!(!huge(&shell("--no-inherit", child), "child"));
    let same = "exec PROGRAM +80 =same x80";
    let ran = shell("--no-inherit", same);
    assert!(huge(&ran, "same") && !huge(&ran, "executed"), "{ran:?}");
    assert!(huge(&shell("", same), "executed"));
}

#[test]
fn a_heap_may_stay_with_glibc() {
    let Some((live, program)) = live("libc", 100) else {
        return;
    };
    let ours = "libhugetlbfs_heap";
    let thp = ran("-v --heap --heap-engine=libc", &program, "+200 =full x200");
    for what in ["full", "executed"] {
        let full = Judged::find(&thp.out, what);
        assert_eq!(full.hugetlb, 0, "{thp:?}");
        assert!(!live.thp_serves() || full.share(full.thp) >= 80, "{thp:?}");
    }
    assert!(!thp.err.contains(ours), "{thp:?}");
    let size = live.default_size();
    let pool = format!("--heap={size} --heap-engine=libc");
    let pool = ran(&pool, &program, "+100 =full");
    let full = Judged::find(&pool.out, "full");
    assert!(full.share(full.hugetlb) >= 80, "{pool:?}");
    assert!(pool.err.contains("may be killed"), "{pool:?}");
}

/// A program that waits for us.
struct Talk {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Talk {
    fn start(mut command: Command) -> Talk {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Talk { child, out }
    }

    /// Its next line, which begins with `what`.
    fn judged(&mut self, what: &str) -> Judged {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        Judged::find(&line, what)
    }

    fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

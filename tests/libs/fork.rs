//! A forked child is never killed for want of a huge page, and no byte is lost.

use std::time::{Duration, Instant};

use super::contract::row::{User, as_user};
use super::judge::Judged;
use crate::support::live::{machine, skip};
use crate::support::long;
use crate::support::needs::others;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, hugectl, tool};

/// Forks with a pool that holds the heap once but not twice.
fn forks(mode: &str, threads: &str, libc: Libc) -> Option<Ran> {
    let program = build("fork", libc, &[])?;
    let mut command = tool("hugectl");
    command
        .arg("--heap")
        .arg(program)
        .args([mode, "200", "1", threads]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{libc:?} {mode} {threads}: {ran:?}");
    Some(ran)
}

#[test]
fn parent_and_child_write_all_of_the_heap_in_either_order() {
    let Some(live) = machine("forks") else { return };
    live.set_pool(110);
    let end = Instant::now() + long::length();
    let mut times = 0;
    while times == 0 || Instant::now() < end {
        for mode in ["parent", "child"] {
            for (threads, libc) in [("0", Libc::Glibc), ("2", Libc::Glibc), ("0", Libc::Musl)] {
                let Some(ran) = forks(mode, threads, libc) else {
                    return;
                };
                let before = Judged::find(&ran.out, "before");
                assert!(before.share(before.hugetlb) >= 80, "{ran:?}");
                assert!(before.share(before.hugetlb + before.thp) >= 90, "{ran:?}");
                // It has moved, also past other threads.
                let after = Judged::find(&ran.out, "after");
                assert_eq!(after.hugetlb, 0, "{ran:?}");
            }
        }
        times += 1;
    }
    assert_eq!(live.free_pages_at_last(110), 110);
}

/// It is huge all the same, and not what was asked for.
#[test]
fn a_report_says_that_a_heap_left_its_pool_at_a_fork() {
    let Some(live) = machine("a report of a heap after a fork") else {
        return;
    };
    live.set_pool(60);
    if !live.thp_serves() {
        return;
    }
    let reason = "moved off hugetlb pages before a fork";
    for (option, is_told) in [
        ("--heap", true),
        ("--heap=2MB", true),
        ("--heap=thp", false),
    ] {
        let mut command = tool("hugectl");
        command.args([option, "--report", "perl", "-e"]);
        // What it has at its end is its own to the last.
        command.arg("use POSIX; $x = 'x' x 4e7; if (!fork) { exit } wait; POSIX::_exit(0)");
        let ran: Ran = command.output().unwrap().into();
        let heap = ran.err.lines().find(|line| line.starts_with("heap "));
        let heap = heap.expect(&ran.err);
        assert!(heap.contains("2MB thp"), "{option}: {ran:?}");
        assert_eq!(heap.contains(reason), is_told, "{option}: {ran:?}");
    }
}

/// Without full userfaultfd the first thread has the heap leave its pool; who wants the
/// kernel's forks keeps it there.
#[test]
fn a_heap_is_on_a_pool_beside_threads_only_where_it_can_move() {
    let test = "a heap on a pool beside threads";
    let Some(live) = machine(test) else { return };
    let Some(program) = build("fork", Libc::Glibc, &[]) else {
        return;
    };
    if !others(test, &program) {
        return;
    }
    live.set_pool(110);
    let run = |user: User, options: &[&str]| -> (Judged, Judged, String) {
        let mut command = as_user(user);
        command.arg(hugectl()).args(options).arg(&program);
        let ran: Ran = (command.args(["parent", "200", "0", "2"]).output())
            .unwrap()
            .into();
        assert_eq!(ran.status, 0, "{ran:?}");
        let [before, after] = ["before", "after"].map(|what| Judged::find(&ran.out, what));
        assert!(before.share(before.hugetlb) >= 80, "{ran:?}");
        (before, after, ran.err)
    };
    let (_, after, said) = run(User::Nobody, &["--heap"]);
    assert_eq!(after.hugetlb, 0, "{said}");
    assert!(said.contains("--set-userfaultfd-group") && said.contains("--fork=kernel"));
    assert_eq!(said.matches("threads: ").count(), 1, "{said}");
    for (user, options) in [
        (User::Root, &["--heap"][..]),
        (User::Nobody, &["--heap", "--fork=kernel"]),
    ] {
        let (before, after, said) = run(user, options);
        assert!(after.hugetlb >= before.hugetlb, "{options:?} {said}");
        assert_eq!(said, "", "{options:?}");
    }
    assert_eq!(live.free_pages_at_last(110), 110);
}

/// A ring may be writing there: the fork is the kernel's.
#[test]
fn a_heap_stays_where_a_ring_may_write() {
    let Some(live) = machine("a fork beside a ring") else {
        return;
    };
    live.set_pool(110);
    let script = "import ctypes, os; libc = ctypes.CDLL(None); ring = libc.syscall(425, 4, \
                  ctypes.create_string_buffer(120)); assert ring >= 0; block = b'x' * 80000000; \
                  pid = os.fork(); pid or os._exit(0); print(os.waitpid(pid, 0)[1])";
    let mut command = tool("hugectl");
    let ran: Ran = (command.args(["--heap", "python3", "-c", script]).output())
        .unwrap()
        .into();
    if ran.err.contains("AssertionError") {
        return skip("a fork beside a ring", "there is no io_uring").unwrap_or(());
    }
    assert_eq!((ran.status, ran.out.as_str()), (0, "0\n"), "{ran:?}");
    assert!(ran.err.contains("stay on hugetlb pages"), "{ran:?}");
}

#[test]
fn a_fork_costs_what_its_heap_does() {
    let Some(live) = machine("fork of a small heap") else {
        return;
    };
    live.set_pool(20);
    // A shell that forks a thousand times with a small heap moves nothing.
    let script = "i=0; while [ $i -lt 200 ]; do (:); i=$((i+1)); done";
    let run = |hugectl: bool| {
        let start = Instant::now();
        let mut command = match hugectl {
            true => {
                let mut command = tool("hugectl");
                command.args(["--heap", "sh"]);
                command
            }
            false => std::process::Command::new("sh"),
        };
        assert!(command.args(["-c", script]).status().unwrap().success());
        start.elapsed()
    };
    run(true);
    // The best of several: other tests run meanwhile.
    let runs = || (run(false), run(true));
    let both = [runs(), runs(), runs(), runs(), runs()];
    let best = |of: fn(&(Duration, Duration)) -> Duration| both.iter().map(of).min();
    let (plain, huge) = (best(|it| it.0).unwrap(), best(|it| it.1).unwrap());
    assert!(
        huge < plain * 2 + Duration::from_millis(50),
        "{plain:?} {huge:?}"
    );
}

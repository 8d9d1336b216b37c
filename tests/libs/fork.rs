//! The pages of private memory before and after a fork, and with several threads. `contract` checks
//! the contents.

use super::contract::row::{User, as_user};
use super::smaps::HeapPages;
use crate::support::live::{machine, skip, skip_aloud};
use crate::support::needs::{self, nobody_can_run};
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, hugectl, tool};

/// Pages of the pool: enough for the heap once, but not twice.
const POOL: u64 = 60;

/// Runs `forks` as a user. Returns its heap pages before the first thread and at the end.
fn run(user: User, options: &[&str], libc: Libc, args: [&str; 2]) -> Option<[HeapPages; 2]> {
    let program = build("contract/forks", libc, &[])?;
    let mut command = as_user(user);
    command.arg(hugectl()).args(options).arg(program);
    let ran = command.args(args).arg("print").ran();
    assert_eq!(ran.status, 0, "{options:?} {args:?}: {ran:?}");
    let [before, after] = ["before", "after"].map(|what| HeapPages::find(&ran.out, what));
    assert!(before.share(before.hugetlb) >= 60, "{ran:?}");
    Some([before, after])
}

#[test]
fn a_heap_leaves_the_pool_at_a_fork() {
    let Some(live) = machine("forks") else { return };
    live.set_pool(POOL);
    for libc in Libc::ALL {
        for threads in ["0", "2"] {
            if let Some([_, after]) = run(User::Root, &["--heap"], libc, ["1", threads]) {
                assert_eq!(after.hugetlb, 0, "{libc:?} {threads}: {after:?}");
            }
        }
    }
    assert_eq!(live.wait_for_free_pages(POOL), POOL);
}

#[test]
fn a_report_says_that_the_heap_left_the_pool_at_a_fork() {
    let Some(live) = machine("a report of a heap after a fork") else {
        return;
    };
    live.set_pool(POOL);
    if !live.can_use_thp() {
        return skip_aloud("transparent huge pages are off");
    }
    for (option, is_reported) in [("--heap", true), ("--heap=thp", false)] {
        let mut command = tool("hugectl");
        command.args([option, "--report", "perl", "-e"]);
        command.arg("use POSIX; $x = 'x' x 4e7; if (!fork) { exit } wait; POSIX::_exit(0)");
        let ran = command.ran();
        let heap = ran.err.lines().find(|line| line.starts_with("heap "));
        let heap = heap.expect(&ran.err);
        assert!(heap.contains("2MB thp"), "{option}: {ran:?}");
        let is_there = heap.contains("before a fork");
        assert_eq!(is_there, is_reported, "{option}: {ran:?}");
    }
}

/// There is address space for a copy of two huge pages, but not of a whole piece (16 MiB).
#[test]
fn a_heap_without_room_for_a_copy_leaves_the_pool_page_by_page() {
    let test = "a fork in a narrow address space";
    if !needs::programs(test, &["python3"]) {
        return;
    }
    let Some(live) = machine(test) else { return };
    live.set_pool(POOL);
    let script = "import os, resource; block = b'x' * 80000000; \
                  used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); \
                  resource.setrlimit(resource.RLIMIT_AS, (used + (7 << 20),) * 2); \
                  pid = os.fork(); pid or os._exit(0); print(os.waitpid(pid, 0)[1])";
    let mut command = tool("hugectl");
    let ran = command.args(["--heap", "python3", "-c", script]).ran();
    assert_eq!((ran.status, ran.out.as_str()), (0, "0\n"), "{ran:?}");
    assert!(ran.err.contains("fork: moved "), "{ran:?}");
    assert!(!ran.err.contains("stay on hugetlb pages"), "{ran:?}");
}

/// The heap leaves the pool at the first thread, unless userfaultfd is fully available or
/// `--fork=kernel` is given.
#[test]
fn a_threaded_heap_stays_on_the_pool_with_userfaultfd_or_fork_kernel() {
    let test = "a heap on a pool beside threads";
    let Some(live) = machine(test) else { return };
    let Some(program) = build("contract/forks", Libc::Glibc, &[]) else {
        return;
    };
    if !nobody_can_run(test, &program) {
        return;
    }
    live.set_pool(POOL);
    for (user, options, stays) in [
        (User::Root, &["--heap"][..], true),
        (User::Nobody, &["--heap"], false),
        (User::Nobody, &["--heap", "--fork=kernel"], true),
    ] {
        let [before, after] = run(user, options, Libc::Glibc, ["0", "2"]).unwrap();
        let wanted = if stays { before.hugetlb } else { 0 };
        assert_eq!(after.hugetlb, wanted, "{user:?} {options:?}");
    }
    assert_eq!(live.wait_for_free_pages(POOL), POOL);
}

/// A ring may have writes in flight, so nothing moves before the fork.
#[test]
fn a_heap_stays_on_the_pool_beside_an_io_uring() {
    if !needs::programs("a fork beside a ring", &["python3"]) {
        return;
    }
    let Some(live) = machine("a fork beside a ring") else {
        return;
    };
    // Twice the heap: the child copies it on the pool.
    live.set_pool(110);
    let script = "import ctypes, os; libc = ctypes.CDLL(None); ring = libc.syscall(425, 4, \
                  ctypes.create_string_buffer(120)); assert ring >= 0; block = b'x' * 80000000; \
                  pid = os.fork(); pid or os._exit(0); print(os.waitpid(pid, 0)[1])";
    let mut command = tool("hugectl");
    let ran = command.args(["--heap", "python3", "-c", script]).ran();
    if ran.err.contains("AssertionError") {
        return skip("a fork beside a ring", "there is no io_uring").unwrap_or(());
    }
    assert_eq!((ran.status, ran.out.as_str()), (0, "0\n"), "{ran:?}");
    assert!(ran.err.contains("stay on hugetlb pages"), "{ran:?}");
}

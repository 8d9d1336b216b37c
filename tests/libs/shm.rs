//! Shared memory on huge pages.

mod files;

use std::process::Command;

use crate::support::live::{machine, skip_aloud};
use crate::support::needs::programs;
use crate::support::program::{Libc, build};
use crate::support::tool::{self, Ran, Run, tool};

/// The modes of `shared`.
const MODES: [&str; 10] = [
    "whole", "parts", "ends", "remap", "holes", "forked", "threads", "others", "segment", "zero",
];

fn shared(options: &[&str], libc: Libc, mode: &str) -> Option<Ran> {
    let program = build("shared", libc, &[])?;
    let mut command = tool("hugectl");
    command.args(options).arg(program).arg(mode);
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{libc:?} {mode}: {ran:?}");
    assert!(ran.out.ends_with("ok\n"), "{libc:?} {mode}: {ran:?}");
    Some(ran)
}

fn huge_kb(ran: &Ran) -> u64 {
    let line = ran
        .out
        .lines()
        .find_map(|line| line.strip_prefix("huge_kb="));
    line.unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn every_call_works_on_pages_of_the_pool() {
    let Some(live) = machine("shared memory with a pool") else {
        return;
    };
    live.set_pool(40);
    for (libc, mode) in Libc::ALL.into_iter().flat_map(|l| MODES.map(|m| (l, m))) {
        let Some(ran) = shared(&["--shm"], libc, mode) else {
            return;
        };
        if matches!(mode, "whole" | "segment" | "zero") {
            assert_eq!(huge_kb(&ran), 10 << 10, "{libc:?} {mode}: {ran:?}");
        }
        assert_eq!(live.wait_for_free_pages(40), 40, "{libc:?} {mode}");
    }
}

#[test]
fn without_a_pool_base_pages_follow_and_are_reported() {
    let Some(live) = machine("shared memory without a pool") else {
        return;
    };
    live.set_pool(0);
    for mode in MODES {
        let Some(ran) = shared(&["--shm"], Libc::Glibc, mode) else {
            return;
        };
        if matches!(mode, "whole" | "segment" | "zero") {
            assert_eq!(huge_kb(&ran), 0, "{mode}: {ran:?}");
            assert!(ran.err.contains("--pool-pages-min"), "{ran:?}");
            assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
        }
    }
}

#[test]
fn a_report_names_the_group_that_is_missing() {
    let Some(live) = machine("a report of a user without the group") else {
        return;
    };
    let Some(program) = build("explained", Libc::Glibc, &[]) else {
        return;
    };
    live.set_pool(20);
    let dir = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .tempdir()
        .unwrap();
    tool::copy(program, dir.path().join("explained"));
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command.arg(tool("hugectl").get_program());
    command.args(["--shm", "--report", "./explained", "sysv", "20"]);
    let ran = command.current_dir(dir.path()).ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    let row = ran.err.lines().find(|line| line.starts_with("shm "));
    assert!(row.unwrap().contains("vm.hugetlb_shm_group"), "{ran:?}");
}

/// The pool has the pages, but the group may not take them.
#[test]
fn a_limited_hugetlb_group_gets_base_pages() {
    let Some(live) = machine("shared memory in a control group") else {
        return;
    };
    let Some(group) = live.hugetlb_group("shared memory in a control group") else {
        return;
    };
    let Some(program) = build("shared", Libc::Glibc, &[]) else {
        return;
    };
    live.set_pool(40);
    let size = live.default_size();
    for file in ["max", "rsvd.max"] {
        group.limit(size, "max", "max");
        group.limit(size, file, "4M");
        for mode in ["whole", "segment"] {
            let mut command = group.enter(tool("hugectl").arg("--shm"));
            let ran = command.arg(&program).arg(mode).ran();
            assert_eq!(ran.status, 0, "{file} {mode}: {ran:?}");
            assert_eq!(huge_kb(&ran), 0, "{file} {mode}: {ran:?}");
        }
    }
    assert_eq!(live.wait_for_free_pages(40), 40);
}

/// Gets a segment by its key.
const GET: &str = "import ctypes; libc = ctypes.CDLL(None); \
                   id = libc.shmget(0x48540001, 20 << 20, 0o1600); print(id)";

/// Other processes see a keyed segment at once, so a private one is populated first as a trial. A
/// segment of another process stays.
#[test]
fn in_a_limited_group_a_keyed_segment_is_neither_tried_nor_removed() {
    let test = "a keyed segment in a control group";
    if !programs(test, &["python3", "strace"]) {
        return;
    }
    let Some(live) = machine(test) else { return };
    let Some(group) = live.hugetlb_group(test) else {
        return;
    };
    live.set_pool(40);
    group.limit(live.default_size(), "max", "4M");
    let hugectl = tool("hugectl").get_program().to_owned();
    let get_and_remove = format!("{GET}; libc.shmctl(id, 0, None)");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-e", "trace=shmget"])
        .arg(&hugectl);
    strace.args(["--shm", "-q", "python3", "-c", &get_and_remove]);
    let new = group.enter(&strace).ran();
    let huge = new.err.lines().filter(|line| line.contains("SHM_HUGETLB"));
    let huge: Vec<&str> = huge.collect();
    let is_private = huge.iter().all(|line| line.contains("IPC_PRIVATE"));
    assert!(!huge.is_empty() && is_private, "{new:?}");
    let mut outside = Command::new(hugectl);
    let made = outside.args(["--shm", "python3", "-c", GET]).ran();
    let found = group.enter(&strace).ran();
    assert_ne!(made.out, "-1\n", "{made:?}");
    assert_eq!(made.out, found.out, "{made:?} {found:?}");
}

#[test]
fn transparent_pages_and_fallbacks() {
    let Some(live) = machine("shared THP") else {
        return;
    };
    live.set_pool(0);
    for (enabled, options, least) in [
        ("advise", &["--shm=thp"][..], 4 << 10),
        // The kernel would make them huge without advice.
        ("always", &["--shm", "--fallback=base"], 0),
        ("always", &["--shm=thp", "--fallback=base"], 0),
    ] {
        if !live.set_shmem_enabled(enabled) {
            return skip_aloud("this kernel has no shmem_enabled");
        }
        let Some(ran) = shared(options, Libc::Glibc, "whole") else {
            return;
        };
        let huge = huge_kb(&ran);
        assert!(
            huge >= least && (huge > 0) == (least > 0),
            "{options:?}: {ran:?}"
        );
        assert_eq!(ran.err.lines().count(), usize::from(least == 0), "{ran:?}");
    }
}

#[test]
fn a_request_smaller_than_the_requested_page_is_reported() {
    let test = "shared memory on larger pages";
    let Some(live) = machine(test) else { return };
    let gib = hugetools_model::PageSize::new(1 << 30).unwrap();
    if live.now().pool(gib).is_none() {
        return skip_aloud("this machine has no 1 GB pages");
    }
    live.set_pool(16);
    for mode in ["whole", "segment"] {
        let Some(ran) = shared(&["--shm=1GB"], Libc::Glibc, mode) else {
            return;
        };
        assert_eq!(ran.err.lines().count(), 1, "{mode}: {ran:?}");
        assert!(ran.err.contains("smaller than one"), "{mode}: {ran:?}");
    }
}

/// A memfd on base pages, since `machine` sets `shmem_enabled` to `never`.
#[test]
fn a_report_on_a_memfd_on_base_pages_has_a_reason() {
    let test = "shared memory that is left alone";
    let Some(_live) = machine(test) else { return };
    if !programs(test, &["python3"]) {
        return;
    }
    let map = "import mmap, os, sys; f = os.memfd_create('x'); os.ftruncate(f, 1 << 22); \
               m = mmap.mmap(f, 1 << 22); m[::4096] = bytes(1024); os._exit(0)";
    for fallback in ["--fallback=thp", "--fallback=none"] {
        let mut command = tool("hugectl");
        command.args([
            "--shm=thp",
            fallback,
            "-q",
            "--report",
            "python3",
            "-c",
            map,
        ]);
        let ran = command.ran();
        assert_eq!(ran.status, 0, "{ran:?}");
        let row = ran.err.lines().find(|line| line.starts_with("shm "));
        let row = row.expect(&ran.err);
        let reasons = ["no transparent huge pages", "shmem_enabled"];
        assert!(reasons.iter().any(|reason| row.contains(reason)), "{row}");
    }
}

//! The heap on huge pages, judged by the programs themselves.

mod beginning;
mod budget;
mod few_blocks;
mod give;
mod host_malloc;
mod limits;
mod plugins;
mod quota;
mod torture;

use std::path::Path;
use std::process::Command;

use super::judge::Judged;
use crate::support::live::{machine, skip};
use crate::support::program::{Libc, build};
use crate::support::still::{with_thp, without_pool};
use crate::support::tool::{self, Ran, tool};

const MODES: [&str; 5] = ["small", "medium", "one", "threads", "realloc"];

/// How much of a heap must be on huge pages, in hundredths.
const ENOUGH: u64 = 95;

/// What such a heap holds.
const MIB: &str = "300";

fn hugectl(args: &[&str], program: &Path, rest: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(args).arg(program).args(rest);
    command.output().unwrap().into()
}

fn judged(ran: &Ran, what: &str) -> Judged {
    assert_eq!(ran.status, 0, "{ran:?}");
    Judged::find(&ran.out, what)
}

#[test]
fn every_way_to_fill_a_heap_gets_transparent_huge_pages_without_a_pool() {
    let Some(_live) = with_thp("heap without a pool") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("blocks", libc, &[]) else {
            return;
        };
        for mode in MODES {
            let judged = judged(&hugectl(&["--heap"], &program, &[mode, MIB]), mode);
            assert_eq!(judged.hugetlb, 0, "{libc:?} {mode}");
            assert!(
                judged.share(judged.thp) >= ENOUGH,
                "{libc:?} {mode}: {judged:?}"
            );
        }
    }
}

#[test]
fn every_way_to_fill_a_heap_gets_pages_of_the_pool() {
    let Some(live) = machine("heap with a pool") else {
        return;
    };
    live.set_pool(300);
    for libc in Libc::ALL {
        let Some(program) = build("blocks", libc, &[]) else {
            return;
        };
        for mode in MODES {
            let judged = judged(&hugectl(&["--heap"], &program, &[mode, MIB]), mode);
            assert!(
                judged.share(judged.hugetlb + judged.thp) >= ENOUGH,
                "{libc:?} {mode}: {judged:?}"
            );
            assert_eq!(live.free_pages_at_last(300), 300, "{libc:?} {mode}");
        }
    }
}

#[test]
fn a_pool_that_is_too_small_is_used_up_and_transparent_pages_follow() {
    let Some(live) = machine("heap with a small pool") else {
        return;
    };
    live.set_pool(50);
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    let ran = hugectl(&["--heap"], &program, &["medium", "300"]);
    let judged = judged(&ran, "medium");
    assert_eq!(judged.hugetlb, 50 * live.default_size().kib());
    assert!(
        judged.share(judged.hugetlb + judged.thp) >= ENOUGH,
        "{judged:?}"
    );
    assert!(ran.err.contains("has no page left"), "{ran:?}");
    assert!(ran.err.contains("hugeadm --pool-pages-min"), "{ran:?}");
}

/// The program is huge throughout, and yet not as it was asked for: what was said while it
/// ran and the report agree.
#[test]
fn the_report_says_that_the_last_page_of_the_pool_was_used() {
    let Some(live) = machine("report of a small pool") else {
        return;
    };
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    let ways: [(u64, &[&str], bool); 3] = [
        (50, &["--heap", "--report"], true),
        (50, &["--heap", "--fallback=base", "--report"], true),
        (200, &["--heap", "--report"], false),
    ];
    for (pages, options, is_short) in ways {
        live.set_pool(pages);
        let ran = hugectl(options, &program, &["medium", "150"]);
        let heap = ran.err.lines().find(|line| line.starts_with("heap "));
        let reason = "  (the pool has no page left)";
        assert_eq!(ran.err.contains("has no page left; "), is_short, "{ran:?}");
        let is_told = heap.is_some_and(|line| line.ends_with(reason));
        assert_eq!(is_told, is_short, "{ran:?}");
    }
}

#[test]
fn the_fallback_is_what_was_asked_for() {
    let Some(_live) = without_pool("fallback") else {
        return;
    };
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    let base = hugectl(&["--heap", "--fallback=base"], &program, &["medium", "100"]);
    let judged = judged(&base, "medium");
    assert_eq!((judged.thp, judged.hugetlb), (0, 0), "{judged:?}");
    let none = hugectl(&["--heap", "--fallback=none"], &program, &["medium", "100"]);
    assert_eq!(none.status, 3, "{none:?}");
    assert!(none.err.contains("Cannot allocate memory"), "{none:?}");
}

/// Blocks of every size fail when the pool is used up, and not before.
#[test]
fn without_a_fallback_a_heap_is_as_large_as_the_pool() {
    let Some(live) = machine("no fallback") else {
        return;
    };
    live.set_pool(40);
    let Some(program) = build("until", Libc::Glibc, &[]) else {
        return;
    };
    for size in [
        "70000", "1000000", "1048576", "3000000", "20000000", "60000000",
    ] {
        let ran = hugectl(&["--heap", "--fallback=none", "-q"], &program, &[size]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let mib: u64 = ran.out.trim().parse().unwrap();
        // A small beginning, of 16 MiB, is on base pages.
        assert!((57..=80 + 16).contains(&mib), "{size}: {ran:?}");
    }
    assert_eq!(live.free_pages_at_last(40), 40);
}

#[test]
fn a_size_can_be_asked_for() {
    let Some(live) = machine("heap size") else {
        return;
    };
    let gib = hugetools_model::PageSize::new(1 << 30).unwrap();
    if live.now().pool(gib).is_none() {
        return skip("heap size", "this machine has no 1 GiB pages").unwrap_or(());
    }
    live.set_pool(0);
    if !live.set_gigantic("heap size", 1) {
        return;
    }
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    let judged = judged(
        &hugectl(&["--heap=1GB"], &program, &["medium", "700"]),
        "medium",
    );
    assert_eq!(judged.hugetlb, 1 << 20, "{judged:?}");
}

#[test]
fn a_small_heap_takes_no_page_of_the_pool() {
    let Some(live) = machine("small heap") else {
        return;
    };
    live.set_pool(20);
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    let judged = judged(&hugectl(&["--heap"], &program, &["small", "1"]), "small");
    assert_eq!((judged.thp, judged.hugetlb), (0, 0), "{judged:?}");
}

#[test]
fn parts_of_a_heap_can_be_guarded_and_dropped() {
    let Some(live) = machine("guard") else { return };
    for pages in [0, 60] {
        live.set_pool(pages);
        for libc in Libc::ALL {
            let Some(program) = build("guard", libc, &[]) else {
                return;
            };
            let ran = hugectl(&["--heap"], &program, &[]);
            assert_eq!(ran.status, 0, "{ran:?}");
            let (before, huge) = (Judged::find(&ran.out, "before"), pages > 0);
            assert_eq!(before.hugetlb > 0, huge, "{ran:?}");
            assert!(ran.out.ends_with("ok\n"), "{ran:?}");
        }
    }
}

#[test]
fn blocks_of_another_malloc_find_their_way_back() {
    let Some(plugin) = build("deepbind", Libc::Glibc, &["-shared", "-fPIC", "-DPLUGIN"]) else {
        return;
    };
    let Some(program) = build("deepbind", Libc::Glibc, &[]) else {
        return;
    };
    let ran = hugectl(&["--heap"], &program, &[plugin.to_str().unwrap()]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "ok\n"), "{ran:?}");
}

#[test]
fn a_limit_of_the_control_group_is_used_up_and_kills_nobody() {
    let Some(live) = machine("control group") else {
        return;
    };
    let Some(group) = live.hugetlb_group("control group") else {
        return;
    };
    live.set_pool(300);
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    let size = live.default_size();
    for (file, limit, kib) in [
        ("max", "40M", 40 << 10),
        ("rsvd.max", "40M", 40 << 10),
        ("max", "0", 0),
    ] {
        group.limit(size, "max", "max");
        group.limit(size, "rsvd.max", "max");
        group.limit(size, file, limit);
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec \"$@\"",
            group.path.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]);
        command.arg(tool::hugectl()).arg("--heap");
        let ran: Ran = command
            .arg(&program)
            .args(["medium", "200"])
            .output()
            .unwrap()
            .into();
        let judged = judged(&ran, "medium");
        assert_eq!(judged.hugetlb, kib, "{file} {limit}: {ran:?}");
        assert!(
            judged.share(judged.hugetlb + judged.thp) >= ENOUGH,
            "{file} {limit}: {judged:?}"
        );
    }
}

/// `HUGETLB_MORECORE_SHRINK` and `HUGETLB_MORECORE_HEAPBASE`.
#[test]
fn a_heap_may_shrink_at_once_and_begin_where_it_is_told() {
    let Some(live) = machine("the heap's variables") else {
        return;
    };
    live.set_pool(64);
    for libc in Libc::ALL {
        let Some(program) = build("shrink", libc, &[]) else {
            continue;
        };
        let heap = |value: &str| {
            let mut command = Command::new(&program);
            let variables = [
                ("LD_PRELOAD", env!("HUGETOOLS_HEAP")),
                ("HUGETLB_MORECORE", "yes"),
                ("HUGETLB_MORECORE_SHRINK", value),
            ];
            let ran: Ran = command.envs(variables).output().unwrap().into();
            let full = judged(&ran, "full");
            assert!(
                full.resident > 100 << 10 && full.hugetlb > 80 << 10,
                "{ran:?}"
            );
            judged(&ran, "freed").resident
        };
        let (kept, shrunk) = (heap("no"), heap("yes"));
        assert!(
            kept > 90 << 10 && shrunk < 20 << 10,
            "{libc:?}: {kept} {shrunk}"
        );
        assert_eq!(live.free_pages_at_last(64), 64);
    }
    let maps = |base: &str| {
        let mut command = Command::new("cat");
        let variables = [
            ("LD_PRELOAD", env!("HUGETOOLS_HEAP")),
            ("HUGETLB_MORECORE", "yes"),
            ("HUGETLB_MORECORE_HEAPBASE", base),
        ];
        let ran: Ran = command
            .arg("/proc/self/maps")
            .envs(variables)
            .output()
            .unwrap()
            .into();
        ran.out
    };
    let begins = |maps: &str, base: &str| maps.lines().any(|line| line.starts_with(base));
    assert!(begins(&maps("0x340000000000"), "340000000000-"));
    // Not where a heap would not be known for one.
    assert!(!begins(&maps("500000000000"), "500000000000-"));
}

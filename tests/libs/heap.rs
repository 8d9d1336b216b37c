//! The heap on huge pages, measured by the programs themselves.

mod allocators;
mod give_back;
mod limits;
mod memory_group;
mod plugins;
mod processes;
mod quota;
mod torture;

use std::path::Path;
use std::process::Command;

use super::smaps::HeapPages;
use crate::support::empty_pool::{empty_pool_machine, thp_machine};
use crate::support::live::{machine, skip};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

const WAYS: [(Libc, &str); 6] = [
    (Libc::Glibc, "small"),
    (Libc::Glibc, "medium"),
    (Libc::Glibc, "one"),
    (Libc::Glibc, "threads"),
    (Libc::Glibc, "realloc"),
    (Libc::Musl, "threads"),
];

/// The part of a heap, in percent, that must be on huge pages.
const ENOUGH: u64 = 95;

fn hugectl(options: &[&str], program: &Path, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(options).arg(program).args(args);
    command.ran()
}

/// Runs `blocks MODE MIB`, which must succeed.
fn blocks(options: &[&str], libc: Libc, mode: &str, mib: &str) -> Option<(HeapPages, Ran)> {
    let ran = hugectl(options, &build("blocks", libc, &[])?, &[mode, mib]);
    assert_eq!(ran.status, 0, "{libc:?} {options:?} {mode}: {ran:?}");
    Some((HeapPages::find(&ran.out, mode), ran))
}

#[test]
fn a_heap_is_on_transparent_pages_without_a_pool() {
    let Some(_live) = thp_machine("heap without a pool") else {
        return;
    };
    for (libc, mode) in WAYS {
        let Some((pages, _)) = blocks(&["--heap"], libc, mode, "300") else {
            return;
        };
        let huge = pages.share(pages.thp);
        assert!(
            pages.hugetlb == 0 && huge >= ENOUGH,
            "{libc:?} {mode}: {pages:?}"
        );
    }
}

#[test]
fn a_heap_is_on_the_pool() {
    let Some(live) = machine("heap with a pool") else {
        return;
    };
    live.set_pool(300);
    for (libc, mode) in WAYS {
        let Some((pages, _)) = blocks(&["--heap"], libc, mode, "300") else {
            return;
        };
        let huge = pages.share(pages.hugetlb + pages.thp);
        assert!(
            huge >= ENOUGH && pages.hugetlb > 0,
            "{libc:?} {mode}: {pages:?}"
        );
        assert_eq!(live.wait_for_free_pages(300), 300, "{libc:?} {mode}");
    }
}

#[test]
fn transparent_pages_follow_a_small_pool() {
    let Some(live) = machine("heap with a small pool") else {
        return;
    };
    live.set_pool(50);
    let options = ["--heap", "--report"];
    let Some((pages, ran)) = blocks(&options, Libc::Glibc, "medium", "300") else {
        return;
    };
    assert_eq!(pages.hugetlb, 50 * live.default_size().kib());
    let huge = pages.share(pages.hugetlb + pages.thp);
    assert!(huge >= ENOUGH, "{pages:?}");
    assert!(ran.err.contains("hugeadm --size-for"), "{ran:?}");
    let heap = ran.err.lines().find(|line| line.starts_with("heap "));
    assert!(heap.unwrap().contains("has no free page"), "{ran:?}");
}

#[test]
fn a_fallback_is_obeyed() {
    let Some(live) = machine("fallback") else {
        return;
    };
    // Base pages even if THP is set to always.
    live.set_pool(0);
    assert_eq!(live.hugeadm(&["--thp-always"]).status, 0);
    for heap in ["--heap", "--heap=thp"] {
        let options = [heap, "--fallback=base"];
        let Some((pages, ran)) = blocks(&options, Libc::Glibc, "medium", "60") else {
            return;
        };
        // mimalloc's own table of pages may be on one huge page.
        assert!(pages.thp <= 2048 && pages.hugetlb == 0, "{heap}: {ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "{heap}: {ran:?}");
    }
    let program = build("blocks", Libc::Glibc, &[]).unwrap();
    let ran = hugectl(&["--heap", "--fallback=none"], &program, &["medium", "100"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.err.contains("Cannot allocate memory"), "{ran:?}");
}

/// Blocks of every size fail when the pool is used up, and not before.
#[test]
fn without_a_fallback_a_heap_is_as_large_as_the_pool() {
    let Some(live) = machine("no fallback") else {
        return;
    };
    live.set_pool(40);
    let Some(program) = build("exhaust", Libc::Glibc, &[]) else {
        return;
    };
    for size in ["70000", "1048576", "3000000", "60000000"] {
        let ran = hugectl(&["--heap", "--fallback=none", "-q"], &program, &[size]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let mib: u64 = ran.out.trim().parse().unwrap();
        // At most the first 16 MiB of a heap are on base pages.
        assert!((57..=80 + 16).contains(&mib), "{size}: {ran:?}");
    }
    assert_eq!(live.wait_for_free_pages(40), 40);
}

#[test]
fn a_heap_on_gigantic_pages() {
    let Some(live) = machine("heap size") else {
        return;
    };
    let gib = hugetools_model::PageSize::new(1 << 30).unwrap();
    if live.now().pool(gib).is_none() {
        return skip("heap size", "this machine has no 1 GiB pages").unwrap_or(());
    }
    live.set_pool(0);
    if !live.set_gigantic(1) {
        return;
    }
    let pages = blocks(&["--heap=1GB"], Libc::Glibc, "medium", "700");
    assert!(pages.is_none_or(|(pages, _)| pages.hugetlb == 1 << 20));
}

#[test]
fn a_small_heap_is_on_base_pages() {
    let Some(live) = machine("small heap") else {
        return;
    };
    live.set_pool(20);
    if let Some((pages, _)) = blocks(&["--heap"], Libc::Glibc, "small", "1") {
        assert_eq!((pages.thp, pages.hugetlb), (0, 0), "{pages:?}");
    }
}

/// A thousand threads with four small blocks each, beside 40 MiB. mimalloc 3 alone takes
/// 90 MiB on base pages and 310 MiB on huge pages.
#[test]
fn the_first_blocks_of_each_thread_are_on_base_pages() {
    let Some(_live) = thp_machine("few blocks in each thread") else {
        return;
    };
    let Some(program) = build("few_blocks", Libc::Glibc, &[]) else {
        return;
    };
    let ran = hugectl(&["--heap=thp", "-q"], &program, &[]);
    let full = HeapPages::find(&ran.out, "full");
    assert!(full.thp >= 38 << 10, "{ran:?}");
    assert!(full.resident <= 120 << 10, "{ran:?}");
}

#[test]
fn parts_of_a_heap_can_be_protected_and_dropped() {
    let Some(live) = machine("guard") else { return };
    for pages in [0, 60] {
        live.set_pool(pages);
        for libc in Libc::ALL {
            let Some(program) = build("guard", libc, &[]) else {
                return;
            };
            let ran = hugectl(&["--heap"], &program, &[]);
            assert!(ran.status == 0 && ran.out.ends_with("ok\n"), "{ran:?}");
            let before = HeapPages::find(&ran.out, "before");
            assert_eq!(before.hugetlb > 0, pages > 0, "{ran:?}");
        }
    }
}

#[test]
fn a_limited_hugetlb_group_gets_its_limit() {
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
        let mut command = group.enter(tool("hugectl").arg("--heap"));
        let ran = command.arg(&program).args(["medium", "300"]).ran();
        let pages = HeapPages::find(&ran.out, "medium");
        assert_eq!(pages.hugetlb, kib, "{file} {limit}: {ran:?}");
        let huge = pages.share(pages.hugetlb + pages.thp);
        assert!(huge >= ENOUGH, "{file} {limit}: {pages:?}");
    }
}

/// `HUGETLB_MORECORE_SHRINK` and `HUGETLB_MORECORE_HEAPBASE`.
#[test]
fn variables_of_the_heap() {
    let Some(live) = machine("the heap's variables") else {
        return;
    };
    live.set_pool(64);
    let heap = |program: &Path, args: &[&str], variable: (&str, &str)| -> Ran {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", env!("HUGETOOLS_HEAP"));
        command.envs([("HUGETLB_MORECORE", "yes"), variable]);
        command.args(args).ran()
    };
    let Some(program) = build("steps", Libc::Glibc, &[]) else {
        return;
    };
    for (value, least, most) in [("no", 90 << 10, u64::MAX), ("yes", 0, 20 << 10)] {
        let steps = ["+100", "=full", "-", "=freed"];
        let ran = heap(&program, &steps, ("HUGETLB_MORECORE_SHRINK", value));
        assert!(
            HeapPages::find(&ran.out, "full").hugetlb > 80 << 10,
            "{ran:?}"
        );
        let freed = HeapPages::find(&ran.out, "freed").resident;
        assert!((least..=most).contains(&freed), "{value}: {ran:?}");
    }
    // The second address is ignored: it is outside of the heap's area.
    for (base, is_used) in [("340000000000", true), ("500000000000", false)] {
        let variable = ("HUGETLB_MORECORE_HEAPBASE", base);
        let ran = heap(Path::new("cat"), &["/proc/self/maps"], variable);
        let begins = |line: &str| line.starts_with(&format!("{base}-"));
        assert_eq!(ran.out.lines().any(begins), is_used, "{ran:?}");
    }
}

#[test]
fn mallopt_malloc_trim_and_sized_free_work() {
    let Some(_live) = empty_pool_machine("the malloc family") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("family", libc, &["-fno-builtin"]) else {
            return;
        };
        let ran = hugectl(&["--heap"], &program, &[]);
        assert_eq!(
            (ran.status, ran.out.as_str()),
            (0, "ok\n"),
            "{libc:?}: {ran:?}"
        );
    }
}

/// Threads that allocate at the same time need more arenas than there are.
#[test]
fn a_burst_of_large_blocks_is_in_the_heap() {
    let Some(_live) = thp_machine("burst of blocks") else {
        return;
    };
    let Some(program) = build("burst", Libc::Glibc, &["-pthread"]) else {
        return;
    };
    let required = &["--heap=thp", "--require=heap"];
    for (options, threads, mib) in [
        (&required[..1], "8", "600"),
        (&required[..1], "1", "14500"),
        // These blocks are populated.
        (required, "8", "150"),
        (required, "200", "6"),
    ] {
        let ran = hugectl(options, &program, &[threads, mib]);
        let all = format!("{threads} of {threads}\n");
        assert_eq!((ran.status, &ran.out), (0, &all), "{options:?} {mib}");
    }
}

/// MPI libraries cache pinned memory by its address and watch `madvise(2)`.
#[test]
fn hooks_of_madvise_learn_of_freed_blocks() {
    let flags = ["-DLIBRARY", "-shared", "-fPIC"];
    let Some(library) = build("unmap_hook", Libc::Glibc, &flags) else {
        return;
    };
    let flags = [
        "-fno-builtin",
        "-Wl,--no-as-needed",
        library.to_str().unwrap(),
    ];
    let Some(program) = build("unmap_hook", Libc::Glibc, &flags) else {
        return;
    };
    let ran = hugectl(&["--heap=thp"], &program, &[]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "dropped\n"), "{ran:?}");
}

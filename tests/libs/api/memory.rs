//! `get_huge_pages` and `get_hugepage_region`, with both libraries and both libcs.

use std::path::Path;
use std::process::Command;

use super::{Built, With, debian_is_here, program, run};
use crate::support::live::{Live, machine};
use crate::support::program::Libc;
use crate::support::tool::{Run, hugectl};

/// Calls `check` for both libraries with both libcs.
fn each(name: &str, mut check: impl FnMut(&Path, With)) {
    for libc in Libc::ALL {
        let Some(program) = program(name, Built::Here, libc) else {
            continue;
        };
        for with in [With::Ours, With::Heap] {
            check(&program, with);
        }
    }
}

/// Checks that all pages are free again.
fn all_back(live: &Live, pool: u64, what: &str) {
    assert_eq!(live.wait_for_free_pages(pool), pool, "{what}");
}

const TAKEN: &str = "\
get_huge_pages(1 pages, 1): huge pages, aligned yes, zero yes, holds yes, taken 1, then nothing, all back yes
get_huge_pages(1 pages, 1): huge pages, aligned yes, zero yes, holds yes, taken 1, then nothing, all back yes
get_huge_pages(1 pages, 1): huge pages, aligned yes, zero yes, holds yes, taken 1, then nothing, all back yes
get_huge_pages(3 pages, 1): huge pages, aligned yes, zero yes, holds yes, taken 3, then nothing, all back yes
get_huge_pages(2 pages, 0): huge pages, aligned yes, zero yes, holds yes, taken 2, then nothing, all back yes
get_huge_pages(100000 pages, 1) = NULL Out of memory
get_huge_pages(0 pages, 1) = NULL Invalid argument
three at once: all back yes
";

#[test]
fn pages_are_huge_and_are_freed() {
    let Some(live) = machine("get_huge_pages") else {
        return;
    };
    live.set_pool(8);
    each("api", |program, with| {
        let variables = [("HUGETLB_MORECORE", "yes"), ("HUGETLB_VERBOSE", "1")];
        let ran = run(program, with, &variables, &["pages"]);
        let out = ran.out.replace("Cannot allocate memory", "Out of memory");
        assert_eq!(
            (out.as_str(), ran.err.as_str()),
            (TAKEN, ""),
            "{program:?} {with:?}"
        );
        all_back(&live, 8, "pages");
    });
}

/// `mmap` succeeds under such a limit; the first touch would kill the program.
#[test]
fn a_limit_of_the_hugetlb_group_is_an_error() {
    let test = "huge pages in a control group";
    let Some(live) = machine(test) else {
        return;
    };
    let Some(group) = live.hugetlb_group(test) else {
        return;
    };
    live.set_pool(8);
    let two = live.default_size().get() * 2;
    group.limit(live.default_size(), "max", &two.to_string());
    each("api", |program, with| {
        for scene in ["pages", "regions"] {
            let mut command = group.enter(Command::new(program).arg(scene));
            command.env("LD_LIBRARY_PATH", with.place().unwrap());
            let ran = command.ran();
            assert_eq!(ran.status, 0, "{ran:?}");
            let wrong = ["holds no", "all back no", "pages are missing"];
            assert!(!wrong.iter().any(|word| ran.out.contains(word)), "{ran:?}");
            if scene == "pages" {
                let of = |count: usize, what: &str| {
                    let line = format!("get_huge_pages({count} pages, 1){what}");
                    assert!(ran.out.contains(&line), "{line}: {ran:?}");
                };
                of(1, ": huge pages");
                of(3, " = NULL");
            }
        }
        all_back(&live, 8, "limit");
    });
}

/// A program linked with Debian's library gets the preloaded one.
#[test]
fn linked_programs_run_under_hugectl() {
    let test = "linked programs under hugectl";
    let Some(live) = machine(test) else {
        return;
    };
    live.set_pool(8);
    let built = match debian_is_here(test) {
        true => Built::ByDebian,
        false => Built::Here,
    };
    let program = program("api", built, Libc::Glibc).unwrap();
    for option in ["--shm", "--heap"] {
        let mut command = Command::new(hugectl());
        command.env_clear().env("HUGETLB_VERBOSE", "1");
        let ran = command.arg(option).arg(&program).arg("pages").ran();
        let out = ran.out.replace("Cannot allocate memory", "Out of memory");
        assert_eq!(out, TAKEN, "{option}: {ran:?}");
        all_back(&live, 8, option);
    }
}

/// A loader that ignores SONAMEs loads two copies. The second passes calls on to the first.
#[test]
fn only_the_first_of_two_copies_works() {
    let Some(live) = machine("two copies of the library") else {
        return;
    };
    live.set_pool(8);
    for libc in Libc::ALL {
        let Some(program) = program("api", Built::Here, libc) else {
            continue;
        };
        let preload = [
            ("LD_PRELOAD", env!("HUGETOOLS_HEAP")),
            ("HUGETLB_VERBOSE", "1"),
        ];
        let ran = run(&program, With::Ours, &preload, &["pages"]);
        let out = ran.out.replace("Cannot allocate memory", "Out of memory");
        assert_eq!(out, TAKEN, "{libc:?}: {ran:?}");
        all_back(&live, 8, "two copies");
    }
}

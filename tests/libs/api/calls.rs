//! A program may put functions of its own in the place of any: ours call those.

use std::fmt::Write;

use super::{Built, With, program, run};
use crate::support::bless::compare;
use crate::support::live::machine;
use crate::support::program::Libc;

const REFUSED: [&str; 7] = [
    "",
    "gethugepagesize",
    "hugetlbfs_test_path",
    "hugetlbfs_find_path_for_size",
    "hugetlbfs_unlinked_fd_for_size",
    "get_huge_pages",
    "/proc/meminfo",
];

/// Each call of the program, and which functions are called for it; for each
/// of them that fails, again.
#[test]
fn every_call_goes_through_the_programs_own_functions() {
    let Some(live) = machine("calls by the program's own functions") else {
        return;
    };
    live.set_pool(8);
    let mount = live.global_mount();
    for libc in Libc::ALL {
        let Some(program) = program("calls", Built::Here, libc) else {
            continue;
        };
        let mut transcript = String::new();
        for features in ["", "no_map_hugetlb"] {
            for refused in REFUSED {
                let variables = [
                    ("REFUSE", refused),
                    ("HUGETLB_FEATURES", features),
                    // Alone, since the machine may have others.
                    ("HUGETLB_PATH", &mount),
                ];
                let ran = run(&program, With::Ours, &variables, &[]);
                assert_eq!(ran.status, 0, "{ran:?}");
                let out = ran.out;
                writeln!(transcript, "refused: {refused} {features}\n{out}").unwrap();
            }
        }
        compare("tests/expected/libs/api-calls.txt", &transcript).unwrap();
        assert_eq!(live.free_pages_at_last(8), 8);
    }
}

/// At the start of a program, so that it may leave `/proc` behind.
#[test]
fn lists_are_opened_as_the_program_would() {
    for libc in Libc::ALL {
        let Some(program) = program("calls", Built::Here, libc) else {
            continue;
        };
        let first = |refused: &str| {
            let ran = run(&program, With::Ours, &[("REFUSE", refused)], &[]);
            let (before, rest) = ran.out.split_once("  $ gethugepagesize()").unwrap();
            assert!(!rest.contains("open /"), "{libc:?}: {ran:?}");
            let opened = before.lines().filter(|line| line.contains("open"));
            opened
                .map(|line| line.trim().to_owned() + "\n")
                .collect::<String>()
        };
        assert_eq!(first(""), "open /proc/meminfo\nopen /proc/mounts\n");
        assert_eq!(
            first("/proc/mounts"),
            "open /proc/meminfo\nopen /proc/mounts\nopen /etc/mtab\n"
        );
    }
}

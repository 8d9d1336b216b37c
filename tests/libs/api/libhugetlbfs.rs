//! Programs run with Debian's library and with ours in its place: both print the same.

use std::path::Path;

use super::{Built, With, debian_is_here, program, run};
use crate::support::live::machine;
use crate::support::program::Libc;

const NO_RESERVE: &[(&str, &str)] = &[("HUGETLB_NO_RESERVE", "yes")];

/// Variables, and whether they need a mount: without one Debian's library has no pages.
const VARIABLES: &[(&[(&str, &str)], bool)] = &[
    (&[], false),
    (NO_RESERVE, false),
    (&[("HUGETLB_SHM", "yes")], false),
    (&[("HUGETLB_VERBOSE", "4"), ("HUGETLB_DEBUG", "1")], false),
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "")], false),
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "0x200000")], false),
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "2mfoo")], false),
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "3M")], false),
    (&[("HUGETLB_PATH", "/tmp:/proc:")], false),
    (&[("HUGETLB_PATH", "")], false),
    (&[("HUGETLB_PATH", "/tmp:MOUNT")], true),
    (&[("HUGETLB_FEATURES", "no_map_hugetlb")], true),
    (
        &[
            ("HUGETLB_RESTRICT_EXE", "other:another"),
            ("HUGETLB_DEFAULT_PAGE_SIZE", "rubbish"),
            ("HUGETLB_PATH", "/tmp"),
        ],
        false,
    ),
    (
        &[
            ("HUGETLB_RESTRICT_EXE", "other:api-ByDebian-Glibc"),
            ("HUGETLB_PATH", "/tmp"),
        ],
        false,
    ),
];

/// A program to run with both libraries.
struct Both<'a> {
    program: &'a Path,
    mount: Option<&'a str>,
}

impl Both<'_> {
    fn compare(&self, variables: &[(&str, &str)], scene: &str, what: &str) {
        let mount = self.mount.unwrap_or("/dev");
        let values: Vec<String> = variables
            .iter()
            .map(|(_, value)| value.replace("MOUNT", mount))
            .collect();
        let variables: Vec<(&str, &str)> = variables
            .iter()
            .zip(&values)
            .map(|((name, _), value)| (*name, value.as_str()))
            .collect();
        let [theirs, ours] = [With::System, With::Ours]
            .map(|with| run(self.program, with, &variables, &[scene, mount]));
        assert_eq!(
            (&ours.out, ours.status),
            (&theirs.out, theirs.status),
            "{what}, {variables:?}, {scene}\n{}",
            ours.err
        );
    }
}

#[test]
fn programs_built_with_debians_library_print_the_same() {
    let test = "programs built with libhugetlbfs-dev";
    let Some(live) = machine(test) else {
        return;
    };
    if !debian_is_here(test) {
        return;
    }
    let program = program("api", Built::ByDebian, Libc::Glibc).unwrap();
    for mounted in [false, true] {
        let mount = mounted.then(|| live.global_mount());
        let both = Both {
            program: &program,
            mount: mount.as_deref(),
        };
        for pool in [0, 16] {
            live.set_pool(pool);
            let what = format!("pool {pool}, mount {mounted}");
            for scene in ["regions", "threads"] {
                both.compare(&[], scene, &what);
            }
            // The pool doesn't change what a variable means: with an empty one, the first two
            // suffice.
            let count = match pool {
                0 => 2,
                _ => VARIABLES.len(),
            };
            for (variables, needs_mount) in &VARIABLES[..count] {
                if *needs_mount && !mounted {
                    continue;
                }
                for scene in ["sizes", "paths", "pages", "shared"] {
                    // With HUGETLB_NO_RESERVE Debian's library returns pages that the pool doesn't
                    // have: a touch raises SIGBUS.
                    if scene != "pages" || variables != &NO_RESERVE {
                        both.compare(variables, scene, &what);
                    }
                }
                // Without a mount only ours returns files.
                if mounted && !variables.iter().any(|(name, _)| *name == "HUGETLB_PATH") {
                    both.compare(variables, "files", &what);
                }
            }
            assert_eq!(live.wait_for_free_pages(pool), pool, "{what}");
        }
        if let Some(mount) = &mount {
            assert_eq!(files_in(mount), 0, "{mount}");
        }
    }
}

fn files_in(dir: &str) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

/// With overcommit the pool is empty until a page is requested.
#[test]
fn surplus_pages_count() {
    let test = "surplus pages for linked programs";
    let Some(live) = machine(test) else {
        return;
    };
    if !debian_is_here(test) {
        return;
    }
    let program = program("api", Built::ByDebian, Libc::Glibc).unwrap();
    let ran = live.hugeadm(&["--pool-pages-max", "DEFAULT:8"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let both = Both {
        program: &program,
        mount: None,
    };
    for scene in ["sizes", "paths"] {
        both.compare(&[], scene, "surplus");
    }
    let ran = run(&program, With::Ours, &[], &["pages"]);
    assert!(
        ran.out.contains("get_huge_pages(3 pages, 1): huge pages"),
        "{ran:?}"
    );
}

//! Whatever the order in which the loader has libc and us: it binds and starts
//! the libraries that come last in it first.

use std::path::{Path, PathBuf};

use super::{With, run};
use crate::support::program::{Libc, build_as};

const WITH: [With; 2] = [With::Ours, With::Heap];

const VERBOSE: (&str, &str) = ("HUGETLB_VERBOSE", "3");

/// A value that is not understood: whoever says so has read the environment.
const ODD: (&str, &str) = ("HUGETLB_MORECORE", "odd");

fn flags(place: &Path, more: &[&str]) -> Vec<String> {
    let own = [
        "-Wl,--no-as-needed".to_owned(),
        format!("-L{}", place.display()),
    ];
    own.into_iter()
        .chain(more.iter().map(|flag| (*flag).to_owned()))
        .collect()
}

fn make(new: &str, source: &str, libc: Libc, more: &[&str]) -> Option<PathBuf> {
    let flags = flags(&With::Ours.place()?, more);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    build_as(new, source, libc, &flags)
}

fn begins_and_has_read_its_environment(program: &Path, more: &[(&str, &str)]) {
    for with in WITH {
        let variables: Vec<_> = [VERBOSE, ODD].iter().chain(more).copied().collect();
        let ran = run(program, with, &variables, &[]);
        assert!(ran.out.starts_with("ok"), "{with:?}: {ran:?}");
        assert_eq!(ran.status, 0, "{with:?}: {ran:?}");
        assert!(ran.err.contains("HUGETLB_MORECORE"), "{with:?}: {ran:?}");
    }
}

#[test]
fn a_program_that_names_libc_before_us() {
    for libc in Libc::ALL {
        for (name, more) in [
            ("first", &["-lhugetlbfs"][..]),
            ("last", &["-lc", "-lhugetlbfs"]),
            ("own-environ", &["-DOWN_ENVIRON", "-lc", "-lhugetlbfs"]),
            ("lazy", &["-Wl,-z,lazy", "-lc", "-lhugetlbfs"]),
        ] {
            let name = format!("order-{name}-{libc:?}");
            let Some(program) = make(&name, "order", libc, more) else {
                continue;
            };
            begins_and_has_read_its_environment(&program, &[]);
        }
    }
}

#[test]
fn a_library_between_the_program_and_us() {
    let flags = ["-DLIBRARY", "-shared", "-fPIC", "-lhugetlbfs"];
    let Some(library) = make("libbetween.so", "order", Libc::Glibc, &flags) else {
        return;
    };
    let between = library.to_str().unwrap();
    let place = With::Ours.place().unwrap();
    let link = format!("-Wl,-rpath-link,{}", place.display());
    let program = make(
        "order-between",
        "calls_order",
        Libc::Glibc,
        &[between, &link],
    )
    .unwrap();
    begins_and_has_read_its_environment(&program, &[]);
    // In a program that knows nothing of either.
    let plain = make("order-plain", "order", Libc::Glibc, &["-lhugetlbfs"]).unwrap();
    begins_and_has_read_its_environment(&plain, &[("LD_PRELOAD", between)]);
}

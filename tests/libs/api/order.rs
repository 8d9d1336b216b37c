//! The library works before and after libc: the loader initializes the last library first.

use super::{With, run};
use crate::support::program::{Libc, build_as};

#[test]
fn the_library_works_before_and_after_libc() {
    let place = With::Ours.place().unwrap();
    let path = format!("-L{}", place.display());
    for libc in Libc::ALL {
        for (name, more) in [
            ("first", &["-lhugetlbfs"][..]),
            ("last", &["-lc", "-lhugetlbfs"]),
            ("own-environ", &["-DOWN_ENVIRON", "-lc", "-lhugetlbfs"]),
        ] {
            let flags = [&["-Wl,--no-as-needed", &path], more].concat();
            let name = format!("order-{name}-{libc:?}");
            let Some(program) = build_as(&name, "order", libc, &flags) else {
                continue;
            };
            for with in [With::Ours, With::Heap] {
                // The message about an invalid value shows that the environment was read.
                let variables = [("HUGETLB_VERBOSE", "3"), ("HUGETLB_MORECORE", "odd")];
                let ran = run(&program, with, &variables, &[]);
                let is_right = ran.status == 0 && ran.out.starts_with("ok");
                assert!(is_right, "{name} {with:?}: {ran:?}");
                assert!(ran.err.contains("HUGETLB_MORECORE"), "{with:?}: {ran:?}");
            }
        }
    }
}

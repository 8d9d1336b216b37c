//! A small beginning on base pages joins the rest of the heap once that has
//! grown, whoever writes to it meanwhile.

use std::time::Instant;

use crate::libs::judge::Judged;
use crate::support::live::machine;
use crate::support::long;
use crate::support::program::{Libc, build};
use crate::support::still::with_thp;
use crate::support::tool::{Ran, tool};

/// Threads that write.
const THREADS: [&str; 3] = ["0", "1", "4"];

fn run(libc: Libc, threads: &str) -> Option<Ran> {
    let program = build("beginning", libc, &[])?;
    let ran: Ran = (tool("hugectl").arg("--heap").arg(program).arg(threads))
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.status, 0, "{libc:?} {threads}: {ran:?}");
    assert!(ran.out.contains("written from outside: yes"), "{ran:?}");
    Some(ran)
}

fn page_tables(ran: &Ran) -> u64 {
    let line = ran
        .out
        .lines()
        .find_map(|line| line.strip_prefix("page_tables_kb="));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_small_beginning_moves_up_to_the_pool_under_all_who_write_to_it() {
    let Some(live) = machine("beginning with a pool") else {
        return;
    };
    live.set_pool(100);
    let end = Instant::now() + long::length();
    loop {
        for libc in Libc::ALL {
            for threads in THREADS {
                let Some(ran) = run(libc, threads) else {
                    return;
                };
                let before = Judged::find(&ran.out, "before");
                let after = Judged::find(&ran.out, "after");
                assert_eq!((before.thp, before.hugetlb), (0, 0), "{ran:?}");
                assert_eq!(after.thp, 0, "{ran:?}");
                // The libraries, their tables and a stack of ours are not heap.
                assert!(after.resident - after.hugetlb < 3072, "{ran:?}");
                assert!(page_tables(&ran) < 100, "{ran:?}");
                assert_eq!(live.free_pages_at_last(100), 100, "{libc:?} {threads}");
            }
        }
        if Instant::now() > end {
            return;
        }
    }
}

#[test]
fn it_becomes_transparent_huge_pages_where_the_pool_has_none() {
    let Some(_live) = with_thp("beginning without a pool") else {
        return;
    };
    for threads in THREADS {
        let Some(ran) = run(Libc::Glibc, threads) else {
            return;
        };
        let after = Judged::find(&ran.out, "after");
        assert!(after.share(after.thp) >= 95, "{ran:?}");
    }
}

//! Random calls to the allocator; the program checks itself.

use std::time::Duration;

use crate::support::live::machine;
use crate::support::open_ended;
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, tool};

/// Pages of the pool: none, too few, enough.
const POOLS: [u64; 3] = [0, 60, 400];

fn torture(libc: Libc, time: Duration, options: &[&str], shrink: bool) {
    let Some(program) = build("torture", libc, &[]) else {
        return;
    };
    let mut command = tool("hugectl");
    if shrink {
        command.env("HUGETLB_MORECORE_SHRINK", "yes");
    }
    command.args(options).arg(program);
    command.arg(time.as_secs().max(1).to_string()).arg("300");
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{libc:?} {options:?}: {ran:?}");
    assert!(ran.out.contains(" refused=0 "), "{libc:?}: {ran:?}");
}

#[test]
fn random_calls_lose_no_byte() {
    let time = open_ended::duration() / 6;
    for pages in POOLS {
        // glibc's heap shrinks with 60 pages, musl's with the other pools.
        for (libc, shrink) in Libc::ALL.into_iter().zip([pages == 60, pages != 60]) {
            // Locked anew for each run, so that other tests get the machine.
            let Some(live) = machine("torture") else {
                return;
            };
            live.set_pool(pages);
            torture(libc, time, &["--heap"], shrink);
        }
    }
}

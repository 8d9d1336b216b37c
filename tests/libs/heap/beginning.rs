//! A small beginning on base pages becomes transparent huge pages once the heap has grown,
//! whoever writes to it meanwhile.

use crate::libs::judge::Judged;
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

#[test]
fn a_small_beginning_becomes_transparent_huge_pages() {
    let Some(_live) = with_thp("beginning without a pool") else {
        return;
    };
    for threads in THREADS {
        let Some(ran) = run(Libc::Glibc, threads) else {
            return;
        };
        let after = Judged::find(&ran.out, "after");
        assert!(after.share(after.thp) >= 85, "{ran:?}");
    }
}

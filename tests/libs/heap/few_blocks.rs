//! Many threads with a few blocks each need no huge page each.

use crate::libs::judge::Judged;
use crate::support::program::{Libc, build};
use crate::support::still::with_thp;
use crate::support::tool::{Ran, tool};

/// A thousand threads with four blocks each, of four sizes, beside 40 MiB: with mimalloc 3
/// alone 90 MiB on base pages, and 310 MiB on huge pages.
#[test]
fn the_first_blocks_of_a_thread_are_on_base_pages() {
    let Some(_live) = with_thp("a few blocks in each thread") else {
        return;
    };
    let Some(program) = build("few_blocks", Libc::Glibc, &[]) else {
        return;
    };
    let mut command = tool("hugectl");
    let ran: Ran = (command.args(["--heap=thp", "-q"]).arg(program))
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let full = Judged::find(&ran.out, "full");
    assert!(full.thp >= 38 << 10, "{ran:?}");
    assert!(full.resident <= 120 << 10, "{ran:?}");
}

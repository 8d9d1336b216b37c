//! Freed memory goes back to the pool and to the machine.

use crate::libs::smaps::HeapPages;
use crate::support::empty_pool::empty_pool_machine;
use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

/// Runs `give_back` with 300 MiB. Nearly all must be given back within 20 s while the program
/// allocates a block every 20 ms.
fn run(libc: Libc, mode: &str) -> Option<Ran> {
    let program = build("give_back", libc, &[])?;
    let mut command = tool("hugectl");
    command.arg("--heap").arg(program).args([mode, "300"]);
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{libc:?} {mode}: {ran:?}");
    Some(ran)
}

#[test]
fn freed_pages_go_back_to_the_pool() {
    let Some(live) = machine("giving back") else {
        return;
    };
    live.set_pool(250);
    for (libc, mode) in [
        (Libc::Glibc, "mixed"),
        (Libc::Glibc, "one"),
        (Libc::Glibc, "threads"),
        (Libc::Musl, "threads"),
    ] {
        let Some(ran) = run(libc, mode) else { return };
        let at = |what| HeapPages::find(&ran.out, what).hugetlb;
        assert!(at("full") > 250 << 10, "{libc:?} {mode}: {ran:?}");
        assert!(at("later") <= 25 << 10, "{libc:?} {mode}: {ran:?}");
        assert_eq!(live.wait_for_free_pages(250), 250, "{libc:?} {mode}");
    }
}

#[test]
fn freed_memory_goes_back_to_the_machine() {
    let Some(_live) = empty_pool_machine("giving back") else {
        return;
    };
    for mode in ["mixed", "threads", "confined"] {
        if let Some(ran) = run(Libc::Glibc, mode) {
            let later = HeapPages::find(&ran.out, "later");
            assert!(later.resident <= 15 << 10, "{mode}: {ran:?}");
        }
    }
}

//! What came apart while a child of a fork lived joins again.

use crate::libs::judge::Judged;
use crate::support::program::{Libc, build};
use crate::support::still::with_thp;
use crate::support::tool::{Ran, tool};

/// A heap of 200 MiB whose program takes these steps; see `steps.c`.
fn run(heap: &str, steps: &[&str]) -> Option<Ran> {
    let program = build("steps", Libc::Glibc, &[])?;
    let mut command = tool("hugectl");
    command
        .args(["-q", "--heap", heap])
        .arg(program)
        .arg("+200");
    let ran: Ran = command.args(steps).output().unwrap().into();
    assert_eq!(ran.status, 0, "{heap}: {ran:?}");
    Some(ran)
}

fn share(ran: &Ran, what: &str) -> u64 {
    let judged = Judged::find(&ran.out, what);
    judged.share(judged.thp)
}

#[test]
fn huge_pages_that_came_apart_join_again_when_the_child_is_gone() {
    let Some(_live) = with_thp("joining again") else {
        return;
    };
    let steps = [
        "=whole", "f", "t", "=apart", "b1000", "=waiting", "w", "b4000", "=joined",
    ];
    // Most of it is waiting.
    let both = std::thread::scope(|scope| {
        let started =
            ["--fallback=thp", "--heap=thp"].map(|heap| scope.spawn(move || run(heap, &steps)));
        started.map(|thread| thread.join().unwrap())
    });
    for ran in both.into_iter().flatten() {
        assert!(share(&ran, "whole") >= 95, "{ran:?}");
        assert!(share(&ran, "apart") <= 10, "{ran:?}");
        assert!(share(&ran, "waiting") <= 40, "{ran:?}");
        assert!(share(&ran, "joined") >= 95, "{ran:?}");
    }
}

#[test]
fn a_heap_that_is_to_be_on_base_pages_stays_there() {
    let Some(_live) = with_thp("not joining") else {
        return;
    };
    let steps = ["f", "t", "w", "b1000", "=later"];
    let Some(ran) = run("--fallback=base", &steps) else {
        return;
    };
    assert_eq!(Judged::find(&ran.out, "later").thp, 0, "{ran:?}");
}

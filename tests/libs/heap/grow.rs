//! Blocks that grow by `realloc`.

use crate::libs::judge::Judged;
use crate::support::live::{Live, machine};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

const MIB: u64 = 700;

fn grown(libc: Libc, options: &str) -> Option<Ran> {
    let program = build("grow", libc, &[])?;
    let mut command = tool("hugectl");
    command.arg(options).arg(program).arg(MIB.to_string());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{libc:?} {options}: {ran:?}");
    Some(ran)
}

fn field(ran: &Ran, name: &str) -> u64 {
    let word = ran
        .out
        .split_whitespace()
        .find_map(|w| w.strip_prefix(name));
    word.unwrap().parse().unwrap()
}

/// A copy would need the memory of both.
fn is_in_place(ran: &Ran) -> bool {
    let largest = Judged::find(&ran.out, "grown");
    let peak = field(ran, "peak_kb=") + largest.hugetlb;
    field(ran, "moves=") == 0 && peak < (MIB << 10) * 11 / 10
}

fn live(pages: u64) -> Option<Live> {
    let live = machine("growing blocks")?;
    live.set_pool(pages);
    Some(live)
}

#[test]
fn a_growing_block_stays_where_it_is_on_huge_pages() {
    for pages in [0, 100, 400] {
        let Some(live) = live(pages) else { return };
        for libc in Libc::ALL {
            let Some(ran) = grown(libc, "--heap") else {
                return;
            };
            let largest = Judged::find(&ran.out, "grown");
            let huge = largest.hugetlb + largest.thp;
            assert!(is_in_place(&ran), "{libc:?} {pages}: {ran:?}");
            assert!(largest.share(huge) >= 98, "{libc:?} {pages}: {ran:?}");
            let least = (pages * live.default_size().kib() * 95 / 100).min(MIB * 1000);
            assert!(largest.hugetlb >= least, "{libc:?} {pages}: {ran:?}");
            assert_eq!(live.free_pages_at_last(pages), pages, "{libc:?}");
        }
    }
}

#[test]
fn what_a_block_shrinks_by_goes_back() {
    let Some(_live) = live(400) else { return };
    let Some(ran) = grown(Libc::Glibc, "--heap") else {
        return;
    };
    let shrunk = Judged::find(&ran.out, "shrunk");
    assert!(shrunk.resident <= (MIB << 10) * 3 / 10, "{ran:?}");
}

#[test]
fn growing_gets_base_pages_where_those_were_asked_for() {
    let Some(_live) = live(0) else { return };
    let program = build("grow", Libc::Glibc, &[]).unwrap();
    let mut command = tool("hugectl");
    command.args(["--heap", "--fallback=base"]).arg(&program);
    let ran: Ran = command.arg("300").output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(Judged::find(&ran.out, "grown").thp, 0, "{ran:?}");
    let mut command = tool("hugectl");
    command.args(["--heap", "--fallback=none"]).arg(&program);
    let ran: Ran = command.arg("300").output().unwrap().into();
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.err.contains("Cannot allocate memory"), "{ran:?}");
}

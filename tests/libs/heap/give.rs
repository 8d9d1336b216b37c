//! What a program has freed goes back, and what a malloc can be asked is
//! answered.

use std::os::unix::process::ExitStatusExt;

use crate::libs::judge::Judged;
use crate::support::live::{Live, machine, skip};
use crate::support::program::{Libc, build};
use crate::support::still::without_pool;
use crate::support::tool::{Ran, tool};

/// The time in which nearly all must be given back, and how long the program
/// waits between two blocks, in milliseconds.
const SECONDS: &str = "20";
const PAUSE: &str = "20";

fn run(libc: Libc, mode: &str, options: &str, shrink: &str) -> Option<Ran> {
    let program = build("give", libc, &[])?;
    let mut command = tool("hugectl");
    command.env("HUGETLB_MORECORE_SHRINK", shrink);
    command.arg(options).arg(program);
    command.args([mode, "300", SECONDS, PAUSE]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{libc:?} {mode}: {ran:?}");
    Some(ran)
}

fn pool(live: &Live, pages: u64) -> u64 {
    live.set_pool(pages);
    pages * live.default_size().kib()
}

#[test]
fn a_quiet_program_gives_the_pool_its_pages_back() {
    let Some(live) = machine("giving back") else {
        return;
    };
    let kib = pool(&live, 250);
    for libc in Libc::ALL {
        for mode in ["mixed", "one", "threads"] {
            let Some(ran) = run(libc, mode, "--heap", "no") else {
                return;
            };
            let at = |what| Judged::find(&ran.out, what).hugetlb;
            assert!(at("full") > 250 << 10, "{libc:?} {mode}: {ran:?}");
            assert!(at("later") <= kib / 20, "{libc:?} {mode}: {ran:?}");
            assert_eq!(live.free_pages_at_last(250), 250, "{libc:?} {mode}");
        }
    }
}

#[test]
fn without_a_pool_the_machine_gets_its_memory_back() {
    let Some(_live) = without_pool("giving back") else {
        return;
    };
    for mode in ["mixed", "one", "threads"] {
        if let Some(ran) = run(Libc::Glibc, mode, "--heap", "no") {
            let later = Judged::find(&ran.out, "later");
            assert!(later.resident <= 15 << 10, "{mode}: {ran:?}");
        }
    }
}

#[test]
fn with_shrink_most_is_back_soon() {
    let Some(live) = machine("giving back soon") else {
        return;
    };
    live.set_pool(250);
    for libc in Libc::ALL {
        for mode in ["mixed", "one", "threads"] {
            let Some(ran) = run(libc, mode, "--heap", "yes") else {
                return;
            };
            let at = |what| Judged::find(&ran.out, what).hugetlb;
            assert!(at("later") <= at("full") / 20, "{libc:?} {mode}: {ran:?}");
        }
    }
}

#[test]
fn a_larger_page_goes_back_when_all_of_it_is_free() {
    let Some(live) = machine("giving larger pages back") else {
        return;
    };
    let gib = hugetools_model::PageSize::new(1 << 30).unwrap();
    if live.now().pool(gib).is_none() {
        return skip("larger pages", "this machine has no 1 GiB pages").unwrap_or(());
    }
    live.set_pool(0);
    if !live.set_gigantic("larger pages", 2) {
        return;
    }
    let Some(program) = build("give", Libc::Glibc, &[]) else {
        return;
    };
    let mut command = tool("hugectl");
    command.arg("--heap=1GB").arg(program);
    // Of two larger pages one may hold what the program still has.
    command.args(["mixed", "1300", "30", PAUSE]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let free = || live.now().pool(gib).unwrap().free.get();
    let mut seen = Vec::new();
    while child.try_wait().unwrap().is_none() {
        seen.push(free());
        seen.dedup();
        if seen.ends_with(&[0, 1]) || seen.ends_with(&[0, 2]) {
            child.kill().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(seen.starts_with(&[2]) && seen.contains(&0), "{seen:?}");
    let after: Vec<_> = seen.iter().skip_while(|free| **free > 0).collect();
    assert!(after.iter().any(|free| **free >= 1), "{seen:?}");
    // They went back while it lived: it was seen, or it says so itself.
    let status = child.wait().unwrap();
    assert!(
        status.success() || status.signal() == Some(nix::libc::SIGKILL),
        "{status}"
    );
}

#[test]
fn what_a_malloc_can_be_asked_is_answered() {
    let Some(live) = machine("the malloc family") else {
        return;
    };
    live.set_pool(60);
    for libc in Libc::ALL {
        let Some(program) = build("family", libc, &["-fno-builtin"]) else {
            return;
        };
        let ran: Ran = tool("hugectl")
            .arg("--heap")
            .arg(program)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.status, 0, "{libc:?}: {ran:?}");
        assert_eq!(ran.out, "ok\n", "{libc:?}: {ran:?}");
    }
}

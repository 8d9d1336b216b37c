//! Shared memory on huge pages, and everything that a program may do to it.

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{self, Ran, tool};

const MODES: [&str; 10] = [
    "whole", "parts", "ends", "remap", "holes", "forked", "together", "threads", "others",
    "segment",
];

fn shared(args: &[&str], libc: Libc, mode: &str) -> Option<Ran> {
    let program = build("shared", libc, &[])?;
    let mut command = tool("hugectl");
    let ran: Ran = command
        .args(args)
        .arg(program)
        .arg(mode)
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.status, 0, "{libc:?} {mode}: {ran:?}");
    assert!(ran.out.ends_with("ok\n"), "{libc:?} {mode}: {ran:?}");
    Some(ran)
}

fn huge_kb(ran: &Ran) -> u64 {
    let line = ran
        .out
        .lines()
        .find_map(|line| line.strip_prefix("huge_kb="));
    line.unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_program_may_do_everything_to_memory_on_pages_of_the_pool() {
    let Some(live) = machine("shared memory with a pool") else {
        return;
    };
    live.set_pool(40);
    for libc in Libc::ALL {
        for mode in MODES {
            let Some(ran) = shared(&["--shm"], libc, mode) else {
                return;
            };
            if matches!(mode, "whole" | "segment") {
                assert_eq!(huge_kb(&ran), 10 << 10, "{libc:?} {mode}: {ran:?}");
            }
            assert_eq!(live.free_pages(), 40, "{libc:?} {mode}");
        }
    }
}

#[test]
fn without_a_pool_it_is_the_same_program_and_that_is_said() {
    let Some(live) = machine("shared memory without a pool") else {
        return;
    };
    live.set_pool(0);
    for libc in Libc::ALL {
        for mode in MODES {
            let Some(ran) = shared(&["--shm"], libc, mode) else {
                return;
            };
            if matches!(mode, "whole" | "segment") {
                assert_eq!(huge_kb(&ran), 0, "{libc:?} {mode}: {ran:?}");
                assert!(ran.err.contains("--pool-pages-min"), "{ran:?}");
            }
        }
    }
}

#[test]
fn shared_memory_is_on_transparent_pages_where_the_kernel_serves_them() {
    let Some(live) = machine("shared THP") else {
        return;
    };
    live.set_pool(0);
    if !live.set_shmem_enabled("advise") {
        return;
    }
    let Some(ran) = shared(&["--shm=thp"], Libc::Glibc, "whole") else {
        return;
    };
    assert!(huge_kb(&ran) >= 4 << 10, "{ran:?}");
}

#[test]
fn a_limit_of_the_control_group_kills_nobody() {
    let Some(live) = machine("shared memory in a control group") else {
        return;
    };
    let Some(group) = live.hugetlb_group("shared memory in a control group") else {
        return;
    };
    live.set_pool(40);
    group.limit(live.default_size(), "max", "4M");
    let Some(program) = build("shared", Libc::Glibc, &[]) else {
        return;
    };
    for mode in ["whole", "segment"] {
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec \"$@\"",
            group.path.display()
        );
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, "sh"]);
        command.arg(tool::hugectl()).arg("--shm");
        let ran: Ran = command.arg(&program).arg(mode).output().unwrap().into();
        assert_eq!(ran.status, 0, "{mode}: {ran:?}");
        assert_eq!(huge_kb(&ran), 0, "{mode}: {ran:?}");
    }
    assert_eq!(live.free_pages(), 40);
}

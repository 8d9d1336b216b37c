//! Shared memory on huge pages, and everything that a program may do to it.

mod files;

use std::process::Command;

use crate::support::live::{absent, machine};
use crate::support::needs::programs;
use crate::support::program::{Libc, build};
use crate::support::tool::{self, Ran, tool};

const MODES: [&str; 9] = [
    "whole", "parts", "ends", "remap", "holes", "forked", "threads", "others", "segment",
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
            assert_eq!(live.free_pages_at_last(40), 40, "{libc:?} {mode}");
        }
    }
}

/// The report says what the message said.
#[test]
fn a_report_names_the_group_that_is_missing() {
    let Some(live) = machine("a report of a user without the group") else {
        return;
    };
    let Some(program) = build("explained", Libc::Glibc, &[]) else {
        return;
    };
    live.set_pool(20);
    let dir = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .tempdir()
        .unwrap();
    tool::copy(program, dir.path().join("explained"));
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command.arg(tool("hugectl").get_program());
    command.args(["--shm", "--report", "./explained", "sysv", "20"]);
    let ran: Ran = command.current_dir(dir.path()).output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let row = ran.err.lines().find(|line| line.starts_with("shm "));
    assert!(
        row.is_some_and(|row| row.contains("not in the group of vm.hugetlb_shm_group")),
        "{ran:?}"
    );
}

#[test]
fn without_a_pool_it_is_the_same_program_and_that_is_said() {
    let Some(live) = machine("shared memory without a pool") else {
        return;
    };
    live.set_pool(0);
    live.set_shmem_enabled("never");
    for libc in Libc::ALL {
        for mode in MODES {
            let Some(ran) = shared(&["--shm"], libc, mode) else {
                return;
            };
            if matches!(mode, "whole" | "segment") {
                assert_eq!(huge_kb(&ran), 0, "{libc:?} {mode}: {ran:?}");
                assert!(ran.err.contains("--pool-pages-min"), "{ran:?}");
                // With the program's own figures, and once.
                assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
                assert!(ran.err.contains(" are needed, 0 are free; "), "{ran:?}");
            }
        }
    }
}

/// Where the pool has the pages, its figure alone would be no reason.
#[test]
fn a_limit_that_keeps_pages_from_shared_memory_is_told() {
    let Some(live) = machine("a limit for shared memory") else {
        return;
    };
    let Some(group) = live.hugetlb_group("a limit for shared memory") else {
        return;
    };
    let Some(program) = build("explained", Libc::Glibc, &[]) else {
        return;
    };
    live.set_pool(30);
    group.limit(live.default_size(), "rsvd.max", "8M");
    let script = format!(
        "echo $$ > {}/cgroup.procs && exec \"$@\"",
        group.path.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]);
    command.arg(tool::hugectl()).arg("--shm").arg(&program);
    let ran: Ran = command.args(["mmap", "20"]).output().unwrap().into();
    let told = "10 are needed, 30 are free; ";
    let why = " (the pool has them: a limit keeps them from this process, such as one of a \
               hugetlb cgroup, a cpuset or a memory policy)\n";
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.err.contains(told) && ran.err.ends_with(why), "{ran:?}");
}

/// A request of the program's own that its control group cannot cover fails as it does
/// under a limit of reservations; without us the first touch would kill the program.
#[test]
fn a_request_of_the_programs_own_fails_under_a_limit_instead_of_killing_it() {
    let Some(live) = machine("the program's own request under a limit") else {
        return;
    };
    let Some(group) = live.hugetlb_group("the program's own request under a limit") else {
        return;
    };
    let Some(program) = build("own_huge", Libc::Glibc, &[]) else {
        return;
    };
    live.set_pool(12);
    let script = format!(
        "echo $$ > {}/cgroup.procs && exec \"$@\"",
        group.path.display()
    );
    let run = |option: &str, args: &[&str]| -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(tool::hugectl());
        let ran = command.arg(option).arg(&program).args(args).output();
        ran.unwrap().into()
    };
    let pages = |count: u64| ((count * live.default_size().get()) >> 20).to_string();
    for option in ["--shm", "--anon"] {
        for kind in ["shared", "private", "segment"] {
            for (limit, said) in [
                ("0", "ENOMEM ok\n"),
                ("4M", "ENOMEM ok\n"),
                ("max", "huge ok\n"),
            ] {
                group.limit(live.default_size(), "max", limit);
                let ran = run(option, &[kind, &pages(4)]);
                let what = format!("{option} {kind} {limit}: {ran:?}");
                assert_eq!((ran.status, ran.out.as_str()), (0, said), "{what}");
                let told = ran.err.lines().filter(|line| line.contains("own request"));
                assert_eq!(told.count(), usize::from(limit != "max"), "{what}");
                let mut command = Command::new("sh");
                command.args(["-c", &script, "sh"]).arg(tool::hugectl());
                let ran: Ran = command
                    .args(["--explain", option])
                    .arg(&program)
                    .output()
                    .unwrap()
                    .into();
                let beyond = "beyond the 4MB that the control group leaves fails with ENOMEM";
                let told = ran.out.contains(beyond);
                assert_eq!(told, limit == "4M", "{option} {limit}: {ran:?}");
            }
            // The first of two, of which neither is touched yet, counts.
            group.limit(live.default_size(), "max", "10M");
            let ran = run(option, &[kind, &pages(3), "2"]);
            let what = format!("{option} {kind}, twice: {ran:?}");
            assert_eq!(
                (ran.status, ran.out.as_str()),
                (0, "huge ENOMEM ok\n"),
                "{what}"
            );
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

/// What was asked for is what there is, also where they come unasked.
#[test]
fn base_pages_follow_where_that_is_asked_for() {
    let Some(live) = machine("shared base pages") else {
        return;
    };
    live.set_pool(0);
    if !live.set_shmem_enabled("always") {
        return;
    }
    for (pages, said) in [
        ("--shm", "0 are free; base pages follow (to grow"),
        ("--shm=thp", "gets no huge page: --fallback=base rules"),
    ] {
        for mode in ["whole", "segment"] {
            let Some(ran) = shared(&[pages, "--fallback=base"], Libc::Glibc, mode) else {
                return;
            };
            assert_eq!(huge_kb(&ran), 0, "{pages} {mode}: {ran:?}");
            assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
            assert!(ran.err.contains(said), "{ran:?}");
        }
    }
}

/// However full the pools are: nothing of it fits into a page of a gigabyte.
#[test]
fn a_request_smaller_than_the_page_that_is_asked_for_is_told() {
    let name = "shared memory on larger pages";
    let Some(live) = machine(name) else {
        return;
    };
    if !std::path::Path::new("/sys/kernel/mm/hugepages/hugepages-1048576kB").exists() {
        return absent(name, "this machine has no 1 GB pages");
    }
    live.set_pool(16);
    for fallback in ["thp", "base", "none"] {
        for mode in ["whole", "segment"] {
            let args = ["--shm=1GB", &format!("--fallback={fallback}")];
            let Some(ran) = shared(&args, Libc::Glibc, mode) else {
                return;
            };
            let said = "cannot be on 1GB pages: it is smaller than one; ";
            assert_eq!(ran.err.lines().count(), 1, "{fallback} {mode}: {ran:?}");
            assert!(ran.err.contains(said), "{fallback} {mode}: {ran:?}");
        }
    }
}

/// A file of the program's own, of which nobody has asked us.
#[test]
fn shared_memory_that_is_left_alone_has_a_reason() {
    // What others set would be another reason, or none.
    let Some(_live) = machine("shared memory that is left alone") else {
        return;
    };
    if !programs("shared memory that is left alone", &["python3"]) {
        return;
    }
    let map = "import mmap, os, sys; f = os.memfd_create('x'); os.ftruncate(f, 1 << 22); \
               m = mmap.mmap(f, 1 << 22); m[::4096] = bytes(1024); os._exit(0)";
    let mut command = tool("hugectl");
    command.args(["--shm=thp", "-q", "--report", "python3", "-c", map]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let row = ran.err.lines().find(|line| line.starts_with("shm "));
    let row = row.expect(&ran.err);
    let reason = ["in files of the program's own", "shmem_enabled"];
    assert!(reason.iter().any(|reason| row.contains(reason)), "{row}");
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
    assert_eq!(live.free_pages_at_last(40), 40);
}

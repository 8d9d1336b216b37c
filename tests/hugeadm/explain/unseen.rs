//! Systems without `/proc` and `/sys`, as in a chroot.

use std::process::Command;

use crate::support::needs::mounts;
use crate::support::tool::Ran;

/// Without kernel files hugeadm makes no claims about the kernel.
#[test]
fn without_proc_and_sys_there_are_no_claims() {
    if !mounts("a machine without /proc") {
        return;
    }
    let run = |script: &str| -> Ran {
        let hide = "mount -t tmpfs none /proc && mount -t tmpfs none /sys";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &format!("{hide}; exec {script}")]);
        command.env("HUGEADM", env!("CARGO_BIN_EXE_hugeadm"));
        command.env("HUGECTL", env!("CARGO_BIN_EXE_hugectl"));
        command.env("PAGESIZE", env!("CARGO_BIN_EXE_pagesize"));
        command.output().unwrap().into()
    };
    let ran = run("\"$HUGEADM\" --explain");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    let finding = "1. /proc/meminfo is missing, as in a chroot\n   the state of huge pages is \
                   unknown\n   -> mount -t proc proc /proc\n";
    for known in ["Total System Memory: not known\n", finding] {
        assert!(ran.out.contains(known), "{ran:?}");
    }
    for claim in ["CONFIG_HUGETLBFS", "Nothing is amiss", "is mounted"] {
        assert!(!ran.out.contains(claim), "{ran:?}");
    }
    let unseen = "no huge page size can be seen, since /proc/meminfo is not there";
    let sizes = ["--page-sizes", "--page-sizes-all"];
    for option in ["--pool-list", "--pool-pages-min DEFAULT:1"]
        .into_iter()
        .chain(sizes)
    {
        let ran = run(&format!("\"$HUGEADM\" {option}"));
        assert!(ran.err.contains(unseen), "{option}: {ran:?}");
    }
    let ran = run("\"$HUGEADM\" --thp-always");
    let told = "/sys/kernel/mm/transparent_hugepage/enabled: unknown, because \
                /proc/meminfo is missing\n  mount -t proc proc /proc; mount -t sysfs sysfs /sys\n";
    assert!(ran.status == 1 && ran.err.ends_with(told), "{ran:?}");
    let ran = run("\"$HUGEADM\" --print-persistent");
    assert_eq!(ran.out, "# unknown, because /proc/meminfo is missing\n");
    let ran = run("\"$PAGESIZE\" --huge-only");
    assert!(ran.err.contains(unseen), "{ran:?}");
    let ran = run("\"$HUGECTL\" --status 1");
    let told = "process 1 cannot be looked at: /proc is not mounted here; mount -t proc proc /proc";
    assert!(ran.status == 125 && ran.err.contains(told), "{ran:?}");
}

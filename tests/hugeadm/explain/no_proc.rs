//! Systems without `/proc` and `/sys`, as in a chroot.

use std::process::Command;

use crate::support::needs::mounts;
use crate::support::tool::{Ran, Run};

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
        command.ran()
    };
    let unseen = "/proc/meminfo is missing, as in a chroot";
    for option in ["--explain", "--pool-list", "--thp-always"] {
        let ran = run(&format!("\"$HUGEADM\" {option}"));
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{option}: {ran:?}");
        let error = format!(
            "{unseen}: the state of huge pages is unknown\n  \
             mount -t proc proc /proc; mount -t sysfs sysfs /sys\n"
        );
        assert!(ran.err.ends_with(&error), "{option}: {ran:?}");
    }
    let ran = run("\"$PAGESIZE\" --huge-only");
    assert!(ran.status == 1 && ran.err.contains(unseen), "{ran:?}");
    let ran = run("\"$PAGESIZE\" --json");
    assert!(ran.status == 1 && ran.out.contains(unseen), "{ran:?}");
    let ran = run("\"$HUGECTL\" --status 1");
    let error =
        "process 1 cannot be looked at: /proc is not mounted here; mount -t proc proc /proc";
    assert!(ran.status == 125 && ran.err.contains(error), "{ran:?}");
}

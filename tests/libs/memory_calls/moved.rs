//! `--anon`: `mremap` of memory that a kernel has as one mapping, and has in parts where
//! huge pages were advised for some of it, comes to what it does without. What it has in
//! parts in any run is refused in any.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::support::live::machine;
use crate::support::needs::{control_groups, mounts};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// With these seeds calls failed whose old range was in parts, each for a reason of its own.
const SEEDS: [&str; 8] = ["4", "46", "47", "52", "84", "101", "109", "119"];

/// With these, where each part was advised when it was opened.
const OPENED: [&str; 2] = ["4", "109"];

const CALLS: &str = "60";

/// Without control groups in sight, as in a chroot, what is reserved is not advised; as
/// where a group limits memory each part is when it is opened.
const HIDDEN: &[&str] = &[
    "unshare",
    "--mount",
    "sh",
    "-c",
    "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"",
    "sh",
];

fn is_as_without(before: &[&str], program: &Path, args: &[&str]) {
    let plain: Ran = Command::new(program).args(args).output().unwrap().into();
    assert!(
        plain.status == 0 && plain.out.ends_with("end\n"),
        "{plain:?}"
    );
    for options in [&["--anon"][..], &["--anon", "--heap=thp"]] {
        let hugectl = tool("hugectl");
        let words = before.iter().map(OsStr::new).chain([hugectl.get_program()]);
        let mut words = words.chain(options.iter().map(OsStr::new));
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg(program).args(args);
        let ours: Ran = command.output().unwrap().into();
        let mut lines = plain.out.lines().zip(ours.out.lines());
        let differs = lines.find(|(plain, ours)| plain != ours);
        assert_eq!(differs, None, "{args:?} {options:?}");
        assert_eq!(ours, plain, "{args:?} {options:?}");
    }
}

#[test]
fn what_is_in_parts_moves_as_one() {
    let Some(live) = machine("moves of memory in parts") else {
        return;
    };
    if !control_groups("moves of memory in parts") {
        return;
    }
    live.set_pool(0);
    for libc in Libc::ALL {
        let Some(program) = build("moved_parts", libc, &[]) else {
            continue;
        };
        is_as_without(&[], &program, &["cases"]);
        for seed in SEEDS {
            is_as_without(&[], &program, &["draw", seed, CALLS]);
        }
    }
}

#[test]
fn what_was_opened_in_parts_moves_as_one() {
    let Some(live) = machine("moves of memory in parts, in a hidden group") else {
        return;
    };
    if !mounts("moves of memory in parts, in a hidden group") {
        return;
    }
    live.set_pool(0);
    let Some(program) = build("moved_parts", Libc::Glibc, &[]) else {
        return;
    };
    is_as_without(HIDDEN, &program, &["cases"]);
    for seed in OPENED {
        is_as_without(HIDDEN, &program, &["draw", seed, CALLS]);
    }
}

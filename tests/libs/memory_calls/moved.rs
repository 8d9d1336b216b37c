//! `--anon`: `mremap` of memory that a kernel has as one mapping, and has in parts where
//! huge pages were advised for some of it, comes to what it does without. What it has in
//! parts in any run is refused in any.

use std::path::Path;
use std::process::Command;

use crate::libs::hidden;
use crate::support::needs::{control_groups, mounts};
use crate::support::program::{Libc, build};
use crate::support::still::without_pool;
use crate::support::tool::{Ran, tool};

/// With these seeds calls failed whose old range was in parts, each for a reason of its own.
const SEEDS: [&str; 8] = ["4", "46", "47", "52", "84", "101", "109", "119"];

/// With these, where each part was advised when it was opened.
const OPENED: [&str; 2] = ["4", "109"];

const CALLS: &str = "60";

fn seeing_all() -> Command {
    tool("hugectl")
}

/// Without control groups in sight, as in a chroot, what is reserved is not advised; as
/// where a group limits memory each part is when it is opened.
fn without_groups() -> Command {
    hidden::hugectl(&["/sys/fs/cgroup"])
}

fn is_as_without(hugectl: fn() -> Command, program: &Path, args: &[&str]) {
    let plain: Ran = Command::new(program).args(args).output().unwrap().into();
    assert!(
        plain.status == 0 && plain.out.ends_with("end\n"),
        "{plain:?}"
    );
    for options in [&["--anon"][..], &["--anon", "--heap=thp"]] {
        let mut command = hugectl();
        command.args(options).arg(program).args(args);
        let ours: Ran = command.output().unwrap().into();
        let mut lines = plain.out.lines().zip(ours.out.lines());
        let differs = lines.find(|(plain, ours)| plain != ours);
        assert_eq!(differs, None, "{args:?} {options:?}");
        assert_eq!(ours, plain, "{args:?} {options:?}");
    }
}

#[test]
fn what_is_in_parts_moves_as_one() {
    let Some(_live) = without_pool("moves of memory in parts") else {
        return;
    };
    if !control_groups("moves of memory in parts") {
        return;
    }
    for libc in Libc::ALL {
        let Some(program) = build("moved_parts", libc, &[]) else {
            continue;
        };
        is_as_without(seeing_all, &program, &["cases"]);
        for seed in SEEDS {
            is_as_without(seeing_all, &program, &["draw", seed, CALLS]);
        }
    }
}

#[test]
fn what_was_opened_in_parts_moves_as_one() {
    let Some(_live) = without_pool("moves of memory in parts, in a hidden group") else {
        return;
    };
    if !mounts("moves of memory in parts, in a hidden group") {
        return;
    }
    let Some(program) = build("moved_parts", Libc::Glibc, &[]) else {
        return;
    };
    is_as_without(without_groups, &program, &["cases"]);
    for seed in OPENED {
        is_as_without(without_groups, &program, &["draw", seed, CALLS]);
    }
}

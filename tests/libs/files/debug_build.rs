//! The libraries as `cargo build` makes them, which are optimized as well: small
//! stacks and names that only the linker brings in hold there, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::live::machine;
use crate::support::needs::mounts;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// Builds them in cargo's own folder, where they are as a rule; where they are.
fn libraries() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--locked", "--offline"])
        .args(["-p", "hugetools-preload", "-p", "hugetools-heap"])
        .arg("--target-dir")
        .arg(target);
    let ran: Ran = cargo.output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    target.join("debug")
}

/// What a library exports.
fn exports(library: &Path) -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only", "-P"]).arg(library);
    let ran: Ran = nm.output().unwrap().into();
    let names = ran.out.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn a_debug_build_exports_what_a_release_does() {
    let debug = libraries();
    for (name, release) in [
        ("libhugetlbfs.so", env!("HUGETOOLS_PRELOAD")),
        ("libhugetlbfs_heap.so", env!("HUGETOOLS_HEAP")),
    ] {
        let expected = exports(Path::new(release));
        assert!(expected.contains("prctl"), "{name}: {expected:?}");
        assert_eq!(exports(&debug.join(name)), expected, "{name}");
    }
}

/// There the most is looked for, and the side stack is as full as it gets.
#[test]
fn a_debug_build_runs_where_sys_is_hidden() {
    let Some(live) = machine("a debug build") else {
        return;
    };
    if !mounts("a debug build") {
        return;
    }
    live.set_pool(0);
    let (debug, program) = (libraries(), build("steps", Libc::Glibc, &[]).unwrap());
    let hugectl = tool("hugectl");
    for options in ["--heap", "--heap=thp"] {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c"]);
        command.args(["mount -t tmpfs none /sys && exec \"$@\"", "sh"]);
        command.arg(hugectl.get_program()).args([options, "-q"]);
        command.arg("--library-path").arg(&debug).arg(&program);
        let output = command.args(["+100", "F"]).output().unwrap();
        assert!(output.status.success(), "{options}: {output:?}");
    }
}

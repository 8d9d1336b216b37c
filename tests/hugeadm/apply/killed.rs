//! Kills hugeadm at every step on recorded machines. A second run must repair the state.
//! (`live.rs` does the same on the running machine.)

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::kill::kill_at;
use crate::support::tool::{hugeadm, tool};
use crate::support::tree::{self, Snapshot, difference, snapshot};

const MACHINE: &str = "x86_64-6.18-mthp";

/// The initial state of each test.
const START: [&str; 3] = [
    "--pool-pages-min=2MB:74",
    "--pool-pages-max=2MB:81",
    "--set-shm-group=0",
];

fn started() -> TempDir {
    let dir = tree::machine(MACHINE);
    assert_eq!(hugeadm(dir.path(), &START).status, 0);
    dir
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = tool("hugeadm");
    command.arg("--sysroot").arg(dir).args(args);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Returns the values in a tree, without newlines that a killed write left.
fn values(dir: &Path) -> Snapshot {
    let mut all = snapshot(dir);
    for (_, contents) in all.values_mut() {
        if let Some(contents) = contents {
            contents.truncate(contents.trim_ascii_end().len());
        }
    }
    all
}

/// Returns the tree after a complete run.
fn whole(prepare: &[&str], args: &[&str]) -> (Snapshot, i32) {
    let dir = started();
    hugeadm(dir.path(), prepare);
    let ran = hugeadm(dir.path(), args);
    (values(dir.path()), ran.status)
}

/// Kills a run at every second step and repeats it.
fn killed_and_run_again(prepare: &[&str], args: &[&str]) -> usize {
    let (wanted, status) = whole(prepare, args);
    for at in (0..).step_by(2) {
        let dir = started();
        hugeadm(dir.path(), prepare);
        if !kill_at(&mut command(dir.path(), args), at) {
            return at;
        }
        let ran = hugeadm(dir.path(), args);
        assert_eq!(ran.status, status, "killed at {at}: {ran:?}");
        let differs = difference(&wanted, &values(dir.path()));
        assert!(differs.is_empty(), "killed at {at}: {differs:?} {ran:?}");
    }
    unreachable!("it ends")
}

#[test]
fn a_pool_that_shrinks_keeps_its_maximum() {
    let steps = killed_and_run_again(&[], &["--pool-pages-min", "DEFAULT:10"]);
    assert!(steps > 15, "{steps}");
}

#[test]
fn pools_that_grow_and_are_spread() {
    for args in [
        &[
            "--pool-pages-min=DEFAULT:100",
            "--pool-pages-max=DEFAULT:150",
        ][..],
        // Pages of 1 GB have no maximum. In a tree, writes to the nodes don't change the pool.
        &["--pool-spread=1GB@0*3:9", "--demote=1GB:1"],
        &["--pool-pages-max=DEFAULT:20"],
    ] {
        killed_and_run_again(&[], args);
    }
}

#[test]
fn settings_and_directories() {
    let prepare = ["--thp-never"];
    let args = [
        "--thp-madvise",
        "--thp-defrag=defer",
        "--hvo=on",
        "--set-shm-group=1",
        "--create-user-mounts=daemon",
        "--create-global-mounts",
        "--add-temp-swap",
        "--pool-pages-min=DEFAULT:80",
    ];
    killed_and_run_again(&prepare, &args);
    killed_and_run_again(&args, &["--unmount"]);
}

/// A run with other options finds the pool's old or new maximum, too.
#[test]
fn a_run_with_other_options_repairs_it_too() {
    let maximum = |dir: &Path| {
        let ran = hugeadm(dir, &["--pool-list"]);
        let row = ran
            .out
            .lines()
            .find(|line| line.contains('*'))
            .unwrap()
            .to_owned();
        let words: Vec<u64> = row
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        (words[1], words[3])
    };
    let mut mended = 0;
    for at in 0.. {
        let dir = started();
        if !kill_at(&mut command(dir.path(), &["--pool-pages-min=2MB:10"]), at) {
            break;
        }
        let ran = hugeadm(dir.path(), &["--set-shm-group=1"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        mended += usize::from(
            ran.err
                .contains("a killed run left the pool of 2MB half changed"),
        );
        assert!(
            [(74, 81), (10, 81)].contains(&maximum(dir.path())),
            "killed at {at}: {ran:?}"
        );
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 2, "killed at {at}: more than proc and sys");
    }
    assert!(mended > 2, "{mended}");
}

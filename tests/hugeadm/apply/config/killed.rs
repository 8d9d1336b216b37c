//! Applies and rollbacks, killed at each system call that changes something.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::without_record;
use crate::support::live::machine;
use crate::support::needs;
use crate::support::tool::{Ran, Run, tool};
use crate::support::tree;

/// Kill points on a recorded machine: calls that change files, and `fsync`.
#[rustfmt::skip]
const TREE_CALLS: [&str; 8] = [
    "write", "ftruncate", "rename", "mkdir", "rmdir", "unlink", "fchmod", "fsync",
];

/// Kill points on the running machine: calls that change the kernel's state or directories.
#[rustfmt::skip]
const LIVE_CALLS: [&str; 8] = [
    "write", "rename", "mkdir", "rmdir", "chmod", "lchown", "mount", "umount2",
];

/// The killed option and the next one. Row 0 is for even call numbers, row 1 for odd ones.
const ORDERS: [[(&str, &str); 2]; 2] = [
    [("--apply", "--apply"), ("--rollback", "--apply")],
    [("--apply", "--rollback"), ("--rollback", "--rollback")],
];

fn command(root: Option<&Path>, file: &Path, option: &str) -> Command {
    let mut command = tool("hugeadm");
    if let Some(root) = root {
        command.arg("--sysroot").arg(root);
    }
    match option {
        "--apply" => command.arg(format!("--apply={}", file.display())),
        option => command.arg(option),
    };
    command
}

fn run(root: Option<&Path>, file: &Path, option: &str) -> Ran {
    let ran = command(root, file, option).ran();
    // The rollback was killed after its last change, or the apply before its first.
    let is_nothing = option == "--rollback" && ran.err.contains("nothing to roll back");
    assert!(ran.status == 0 || is_nothing, "{option}: {ran:?}");
    ran
}

/// Runs hugeadm and kills it at the nth of these calls. Returns false if it ends before.
fn killed(root: Option<&Path>, file: &Path, option: &str, (call, at): (&str, usize)) -> bool {
    let hugeadm = command(root, file, option);
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    strace.args(["-e", &format!("inject={call}:signal=SIGKILL:when={at}")]);
    strace.arg(hugeadm.get_program()).args(hugeadm.get_args());
    let ran = strace.ran();
    let killed = ran.status == 128 + 9;
    assert!(killed || ran.status == 0, "{option}: {ran:?}");
    killed
}

/// Kills an apply and a rollback at each of these calls. The next run must reach the applied or the
/// rolled back state. Returns the number of kill points.
fn kill_everywhere<S: PartialEq + Debug>(
    file: &Path,
    root: Option<&Path>,
    calls: &[&'static str],
    state: &dyn Fn() -> S,
) -> usize {
    let before = state();
    run(root, file, "--apply");
    let after = state();
    assert_ne!(before, after);
    run(root, file, "--rollback");
    let mut count = 0;
    let kills = |call| (1..).map(move |at| (call, at));
    for call in calls {
        for kill in kills(*call) {
            let mut any_killed = false;
            for order in ORDERS[kill.1 % 2] {
                let (first, then) = order;
                if first == "--rollback" {
                    run(root, file, "--apply");
                }
                any_killed |= killed(root, file, first, kill);
                run(root, file, then);
                if then == "--apply" {
                    assert_eq!(state(), after, "{kill:?} {order:?}");
                    run(root, file, "--rollback");
                }
                assert_eq!(state(), before, "{kill:?} {order:?}");
            }
            if !any_killed {
                break;
            }
            count += 1;
        }
    }
    count
}

#[test]
fn killed_runs_recover_on_a_recorded_machine() {
    if !needs::programs("a killed apply", &["strace"]) {
        return;
    }
    let text = "[[pool]]\nsize = \"2MB\"\nmin = 90\nmax = 200\n[[mount]]\nfor = \"root\"\n\
        [thp]\nenabled = \"never\"\n[memory]\nmin_free = \"256MB\"\n";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pools.toml");
    fs::write(&file, text).unwrap();
    let tree = tree::machine("x86_64-no-1g");
    // A killed write leaves newlines at the end of a recorded file.
    let state = || {
        let files = without_record(tree.path()).into_iter();
        let texts = files.map(|(path, (mode, bytes))| {
            let text = bytes.map(|bytes| String::from_utf8(bytes).unwrap());
            (path, mode, text.map(|text| text.trim_end().to_owned()))
        });
        texts.collect::<Vec<_>>()
    };
    let calls = kill_everywhere(&file, Some(tree.path()), &TREE_CALLS, &state);
    assert!(calls > 20, "{calls}");
}

#[test]
fn killed_runs_recover_on_this_machine() {
    let Some(live) = machine("a killed apply on this machine") else {
        return;
    };
    if !needs::programs("a killed apply on this machine", &["strace"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pools.toml");
    let text = "[[pool]]\nsize = \"DEFAULT\"\nmin = 20\nmax = 25\n[[mount]]\nfor = \"global\"\n";
    fs::write(&file, text).unwrap();
    live.set_pool(0);
    assert_eq!(live.hugeadm(&["--unmount"]).status, 0);
    let _ = fs::remove_file("/var/lib/hugetools/rollback.json");
    let state = || {
        let mounts = live.now().mounts.into_iter().map(|mount| mount.point);
        let is_there = Path::new("/var/lib/hugetlbfs/global").exists();
        (
            live.pool(live.default_size()),
            mounts.collect::<Vec<_>>(),
            is_there,
        )
    };
    let calls = kill_everywhere(&file, None, &LIVE_CALLS, &state);
    assert!(calls > 8, "{calls}");
}

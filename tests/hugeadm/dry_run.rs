//! A dry run writes nothing, and what it prints does what the real run does.

use proptest::prelude::*;

use crate::support::cases;
use crate::support::tool::{hugeadm, sh};
use crate::support::tree::{self, MACHINES, difference, snapshot};

/// One option with its value, often one that this machine or any machine
/// refuses.
fn option() -> impl Strategy<Value = String> {
    let pick = |words: &[&'static str]| prop::sample::select(words.to_vec());
    let size = pick(&[
        "DEFAULT", "DEFAULT", "DEFAULT", "2MB", "64K", "16M", "1GB", "3MB",
    ]);
    let nodes = pick(&["", "", "", "@0", "@0-2,5", "@4", "@99"]);
    let amount = prop_oneof![
        4 => (0..300u64).prop_map(|n| n.to_string()),
        1 => (1..64u64).prop_map(|n| format!("{}M", 16 * n)),
        1 => (0..60u64).prop_map(|n| format!("{n}%")),
        1 => pick(&["0x1f", "junk"]).prop_map(str::to_owned),
    ];
    let (sign, which) = (pick(&["", "", "+", "-"]), pick(&["min", "min", "max"]));
    let spec = (which, size, nodes, sign, amount)
        .prop_map(|(which, s, n, sign, a)| format!("--pool-pages-{which}={s}{n}:{sign}{a}"));
    let plain = pick(&[
        "--pool-list",
        "--page-sizes",
        "--page-sizes-all",
        "--list-all-mounts",
        "--create-mounts",
        "--create-global-mounts",
        "--set-shm-group=1",
        "--set-shm-group=none-such",
        "-v",
        "--json",
    ]);
    prop_oneof![3 => spec, 2 => plain.prop_map(str::to_owned)]
}

fn machine() -> impl Strategy<Value = &'static str> {
    prop::sample::select(MACHINES.to_vec())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_dry_run_leaves_the_tree_byte_for_byte(
        machine in machine(),
        mut args in prop::collection::vec(option(), 1..7),
        at in any::<prop::sample::Index>(),
    ) {
        let dir = tree::machine(machine);
        let before = snapshot(dir.path());
        let place = at.index(args.len() + 1);
        args.insert(place, "--dry-run".to_owned());
        let ran = hugeadm(dir.path(), &args);
        prop_assert!((0..=2).contains(&ran.status), "{:?}", ran);
        let changed = difference(&before, &snapshot(dir.path()));
        prop_assert!(changed.is_empty(), "{:?}", changed);
    }

    #[test]
    fn the_printed_shell_does_what_the_real_run_does(
        machine in machine(),
        args in prop::collection::vec(option(), 1..5),
    ) {
        let changes = |arg: &&String| arg.contains("pool-pages") || arg.contains("create") || arg.contains("shm");
        let mut args: Vec<String> = args.iter().filter(changes).cloned().collect();
        let (real, scripted) = (tree::machine(machine), tree::machine(machine));
        let ran = hugeadm(real.path(), &args);
        args.push("--dry-run".to_owned());
        let script = hugeadm(scripted.path(), &args);
        prop_assert_eq!(script.status, ran.status);
        let shell = sh(&script.out);
        prop_assert!(ran.status != 0 || shell.status == 0, "{:?}", shell);
        let changed = difference(&snapshot(real.path()), &snapshot(scripted.path()));
        prop_assert!(changed.is_empty(), "{:?}\n{}", changed, script.out);
    }
}

#[test]
fn a_tree_whose_name_the_shell_would_take_apart() {
    let real = tree::machine("x86_64-8node");
    let dir = tree::machine("x86_64-8node");
    let odd = dir.path().join("it's a $(tree)");
    std::fs::create_dir(&odd).unwrap();
    for part in ["proc", "sys"] {
        std::fs::rename(dir.path().join(part), odd.join(part)).unwrap();
    }
    let args = [
        "--pool-pages-min",
        "DEFAULT:20",
        "--pool-pages-min=1GB@0:1",
        "--create-mounts",
    ];
    let ran = hugeadm(real.path(), &args);
    let script = hugeadm(&odd, &[&args[..], &["--dry-run"]].concat());
    assert_eq!(
        (ran.status, sh(&script.out).status),
        (0, 0),
        "{}",
        script.out
    );
    let changed = difference(&snapshot(real.path()), &snapshot(&odd));
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn nothing_outside_the_tree_is_touched() {
    let outside = tempfile::tempdir().unwrap();
    let dir = tree::machine("x86_64-8node");
    std::os::unix::fs::symlink(outside.path(), dir.path().join("var")).unwrap();
    let knob = dir.path().join("proc/sys/vm/nr_hugepages");
    std::fs::copy(&knob, outside.path().join("knob")).unwrap();
    std::fs::remove_file(&knob).unwrap();
    std::os::unix::fs::symlink(outside.path().join("knob"), &knob).unwrap();
    let before = snapshot(outside.path());
    let ran = hugeadm(dir.path(), &["--create-mounts"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let ran = hugeadm(dir.path(), &["--pool-pages-min", "DEFAULT:5"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.err.contains("a link leads out of the recorded tree"),
        "{ran:?}"
    );
    assert_eq!(difference(&before, &snapshot(outside.path())), [""; 0]);
}

//! A dry run writes nothing, and its script has the effects of the real run.

use proptest::prelude::*;

use crate::support::cases;
use crate::support::needs::programs;
use crate::support::tool::{hugeadm, sh};
use crate::support::traced::{changes, strace};
use crate::support::tree::{self, difference, machines, snapshot};

/// Generates a pool option with its value.
fn pool_option() -> impl Strategy<Value = String> {
    let pick = |words: &[&'static str]| prop::sample::select(words.to_vec());
    let size = pick(&[
        "DEFAULT", "DEFAULT", "DEFAULT", "2MB", "64K", "16M", "1GB", "3MB",
    ]);
    let nodes = pick(&["", "", "", "@0", "@0-2,5", "@4", "@99"]);
    let amount = prop_oneof![
        4 => (0..300u64).prop_map(|n| n.to_string()),
        1 => pick(&["0", "1"]).prop_map(str::to_owned),
        1 => (1..64u64).prop_map(|n| format!("{}M", 16 * n)),
        1 => (0..60u64).prop_map(|n| format!("{n}%")),
        1 => pick(&["0x1f", "junk"]).prop_map(str::to_owned),
    ];
    let which = pick(&[
        "pool-pages-min",
        "pool-pages-min",
        "pool-pages-max",
        "pool-spread",
    ]);
    (which, size, nodes, pick(&["", "", "+", "-"]), amount)
        .prop_map(|(which, s, n, sign, a)| format!("--{which}={s}{n}:{sign}{a}"))
}

/// Other options that change something, and those that modify them.
const CHANGES: &[&str] = &[
    "--add-ramdisk-swap",
    "--add-temp-swap",
    "--add-temp-swap=2",
    "--create-global-mounts",
    "--create-group-mounts=daemon",
    "--create-mounts",
    "--create-user-mounts=daemon",
    "--disable-zone-movable",
    "--enable-zone-movable",
    "--force",
    "--hard",
    "--hvo=off",
    "--hvo=on",
    "--max-inodes=9",
    "--max-size=64M",
    "--mount-mode=0755",
    "--obey-mempolicy",
    "--obey-numa-mempol",
    "--persist",
    "--pool-spread=DEFAULT@0*3,1:40",
    "--set-recommended-min_free_kbytes",
    "--clear",
    "--set-recommended-shmmax",
    "--set-shm-group=1",
    "--set-shm-group=none-such",
    "--set-userfaultfd-group=daemon",
    "--thp-always",
    "--thp-defrag=defer+madvise",
    "--thp-khugepaged-alloc-sleep=3",
    "--thp-khugepaged-pages=7",
    "--thp-khugepaged-scan-sleep=0",
    "--thp-madvise",
    "--thp-max-ptes-none=8",
    "--thp-never",
    "--thp-shmem=advise",
    "--thp-size=2MB:never",
    "--thp-size=64kB:always",
    "--thp-use-zero-page=off",
    "--unmount",
];

/// Options that show something or modify others.
const SHOWS: &[&str] = &[
    "--bug-report",
    "--explain",
    "--json",
    "--list-all-mounts",
    "--metrics",
    "--page-sizes",
    "--page-sizes-all",
    "--pool-list",
    "--pool-list-nodes",
    "--stats",
    "--who",
    "--verbose=4",
    "-v",
];

fn change() -> impl Strategy<Value = String> {
    let plain = prop::sample::select(CHANGES).prop_map(str::to_owned);
    prop_oneof![2 => pool_option(), 3 => plain]
}

fn option() -> impl Strategy<Value = String> {
    let show = prop::sample::select(SHOWS).prop_map(str::to_owned);
    prop_oneof![4 => change(), 1 => show]
}

fn machine() -> impl Strategy<Value = String> {
    prop::sample::select(machines())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn a_dry_run_leaves_the_tree_unchanged(
        machine in machine(),
        mut args in prop::collection::vec(option(), 1..9),
        at in any::<prop::sample::Index>(),
    ) {
        let dir = tree::machine(&machine);
        let before = snapshot(dir.path());
        let place = at.index(args.len() + 1);
        args.insert(place, "--dry-run".to_owned());
        let ran = hugeadm(dir.path(), &args);
        prop_assert!((0..=3).contains(&ran.status), "{:?}", ran);
        let changed = difference(&before, &snapshot(dir.path()));
        prop_assert!(changed.is_empty(), "{:?}", changed);
    }

    #[test]
    fn the_printed_shell_does_what_the_real_run_does(
        machine in machine(),
        before in prop::collection::vec(change(), 0..3),
        mut args in prop::collection::vec(change(), 1..6),
    ) {
        // An ordinary owner cannot enter a directory that only its group may enter.
        let is_group = |arg: &String| arg.starts_with("--create-group-mounts");
        let is_root = nix::unistd::geteuid().is_root();
        prop_assume!(is_root || !before.iter().chain(&args).any(is_group));
        let (real, scripted) = (tree::machine(&machine), tree::machine(&machine));
        for dir in [&real, &scripted] {
            hugeadm(dir.path(), &before);
        }
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

/// A conflicting mount ends the option; later mounts get no directory.
#[test]
fn the_printed_shell_stops_where_the_real_run_does() {
    let [real, scripted] = ["x86_64-8node", "x86_64-8node"].map(tree::machine);
    let args = ["--create-global-mounts", "--max-inodes=9"];
    let ran = hugeadm(real.path(), &args);
    assert!(
        ran.status == 1 && ran.err.contains("2 more steps"),
        "{ran:?}"
    );
    let script = hugeadm(scripted.path(), &["--dry-run", args[0], args[1]]);
    assert!(
        script
            .out
            .contains("# skipped after that: 2 steps of --create-global-mounts"),
        "{script:?}"
    );
    sh(&script.out);
    let changed = difference(&snapshot(real.path()), &snapshot(scripted.path()));
    assert!(changed.is_empty(), "{changed:?}");
}

/// Traces the system calls on the running machine.
#[test]
fn no_call_of_a_dry_run_changes_anything() {
    let test = "hugeadm --dry-run, call by call";
    if !programs(test, &["strace"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let others = [
        "--pool-pages-min=DEFAULT:+8",
        "--pool-pages-max=2MB:16",
        "--install-boot",
        "--uninstall-boot",
    ];
    for option in CHANGES.iter().chain(&others) {
        let mut command = strace(&trace);
        command.arg(env!("CARGO_BIN_EXE_hugeadm"));
        command.args(["--dry-run", option]).env("LC_ALL", "C");
        command.output().unwrap();
        let changes = changes(&trace);
        assert!(changes.is_empty(), "{option}: {changes:#?}");
    }
}

/// The two lists above contain every option except `others`.
#[test]
fn every_option_is_tried() {
    let command = <hugetools_admin::args::Args as clap::CommandFactory>::command();
    let tried = |name: &str| {
        let of = |option: &&str| option.trim_start_matches("--").split('=').next() == Some(name);
        CHANGES.iter().chain(SHOWS).any(of)
    };
    // These are generated by pool_option() or tested separately.
    let others = [
        "pool-pages-min",
        "pool-pages-max",
        "apply",
        "check",
        "save",
        "rollback",
        "example-config",
        "install-boot",
        "uninstall-boot",
        "dry-run",
        "output",
        "size-for",
        "sysroot",
        "help",
        "version",
    ];
    for name in command.get_arguments().filter_map(clap::Arg::get_long) {
        assert!(tried(name) || others.contains(&name), "--{name}");
    }
}

#[test]
fn a_tree_whose_name_needs_quotes() {
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
        "--pool-pages-min=1GB:1",
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

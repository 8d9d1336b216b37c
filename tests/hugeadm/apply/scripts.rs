//! Printed scripts on a simulated kernel. After each command the kernel gets the written
//! value and updates its files, so that the next command reads the result. The final
//! state equals that of a real run.
//!
//! `dry_run.rs` runs the scripts with `sh`. Here bash in POSIX mode runs them, since it
//! can be stopped before each command.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hugetools_admin::plan::shell::script;
use hugetools_model::sim::Sim;
use hugetools_model::{KPath, Root};
use proptest::prelude::*;

use crate::hugeadm::world::{NODES, World, size};
use crate::support::{cases, tree};

/// Sends a byte and waits for a line before each command. Commands that would change this
/// machine are replaced by stubs.
const PRELUDE: &str = "exec 8>&1 9<&0 </dev/null >/dev/null
sleep() { :; }
sync() { :; }
chown() { :; }
set -T
trap 'printf x >&8; IFS= read -r _ <&9' DEBUG
";

/// Returns the files that a script writes to, by their kernel paths.
fn targets(script: &str, root: &Root) -> BTreeMap<PathBuf, &'static str> {
    let prefix = root.prefix().unwrap().to_str().unwrap();
    let words = script.split([' ', ';', '\n', ')', '(']);
    let paths = words.filter_map(|word| word.strip_prefix(prefix));
    let paths = paths.filter(|path| path.starts_with("/proc") || path.starts_with("/sys"));
    paths
        .map(|path| {
            let known: &'static str = Box::leak(path.to_owned().into_boxed_str());
            (root.host_path(path), known)
        })
        .collect()
}

fn contents(path: &Path) -> String {
    match path.exists() {
        true => tree::text(path),
        false => String::new(),
    }
}

fn put(path: &Path, text: &str) {
    let file = fs::OpenOptions::new().write(true).truncate(true).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

/// Passes the written values to the kernel, which updates its files.
fn react(
    files: &BTreeMap<PathBuf, &'static str>,
    shown: &mut BTreeMap<PathBuf, String>,
    root: &Root,
) {
    for (path, name) in files {
        let (now, before) = (contents(path), shown.get(path).cloned().unwrap_or_default());
        if now != before {
            put(path, &before);
            // With a real kernel, echo would get this error.
            let _ = root.write(&KPath::from(*name), now.trim());
        }
    }
    *shown = files
        .keys()
        .map(|path| (path.clone(), contents(path)))
        .collect();
}

/// Runs a script on a simulated kernel.
fn run(script: &str, root: &Root) {
    let files = targets(script, root);
    let mut shown = BTreeMap::new();
    react(&BTreeMap::new(), &mut shown, root);
    shown.extend(files.keys().map(|path| (path.clone(), contents(path))));
    let mut child = Command::new("bash")
        .args(["--posix", "-c"])
        .arg(format!("{PRELUDE}{script}\n:\n"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut go = child.stdin.take().unwrap();
    let mut stop = child.stdout.take().unwrap();
    let mut byte = [0];
    while stop.read(&mut byte).unwrap() == 1 {
        react(&files, &mut shown, root);
        // The shell may have ended.
        let _ = go.write_all(b"\n");
    }
    assert!(child.wait().unwrap().success(), "{script}");
}

/// Creates the kernel's write-only files, which archives don't contain.
fn with_presses(world: &World) {
    let nodes = (0..8).map(|n| format!("/sys/devices/system/node/node{n}/compact"));
    let presses = ["/proc/sys/vm/compact_memory", "/proc/sys/vm/drop_caches"];
    for path in nodes.chain(presses.map(str::to_owned)) {
        fs::File::create(world.root.host_path(path)).unwrap();
    }
}

fn same(args: &[&str], kernel: impl Fn(Sim) -> Sim) -> Result<(), TestCaseError> {
    let (mut real, mut scripted) = (World::new(NODES, &kernel), World::new(NODES, &kernel));
    for world in [&real, &scripted] {
        with_presses(world);
    }
    let text = script(&scripted.plan(args), &scripted.root);
    real.run(args);
    run(&text, &scripted.root);
    let (real, scripted) = (real.now(), scripted.now());
    prop_assert_eq!(&real.pools, &scripted.pools, "{}", text);
    prop_assert_eq!(&real.nodes, &scripted.nodes, "{}", text);
    prop_assert_eq!(&real.sysctl, &scripted.sysctl, "{}", text);
    prop_assert_eq!(&real.thp, &scripted.thp, "{}", text);
    Ok(())
}

const FEW: &str = "--pool-pages-min=2MB:900";

#[test]
fn a_pool_with_room() {
    same(
        &["--pool-pages-min=2MB:10", "--pool-pages-max=2MB:90"],
        |sim| sim,
    )
    .unwrap();
    same(
        &[
            "--pool-spread=2MB@0*3,1:40",
            "--demote=1GB:1",
            "--pool-pages-min=1GB:2",
        ],
        |sim| sim,
    )
    .unwrap();
}

#[test]
fn a_pool_that_falls_short() {
    let scarce = |sim: Sim| sim.room(None, size("2M"), 500);
    same(&[FEW], scarce).unwrap();
    same(&[FEW], |sim| {
        scarce(sim).room_after("/proc/sys/vm/compact_memory", size("2M"), 700)
    })
    .unwrap();
}

#[test]
fn a_pool_with_hard() {
    // No swap: the script would create real swap.
    let hard = ["--hard", "--add-temp-swap=0", FEW];
    let scarce = |sim: Sim| sim.room(None, size("2M"), 500);
    same(&hard, scarce).unwrap();
    same(&hard, |sim| scarce(sim).trickle(size("2M"), 30)).unwrap();
    same(&hard, |sim| {
        scarce(sim).room_after("/proc/sys/vm/drop_caches", size("2M"), 800)
    })
    .unwrap();
}

#[test]
fn limits_and_words() {
    same(
        &[
            "--thp-never",
            "--thp-madvise",
            "--thp-defrag=madvise",
            "--thp-khugepaged-pages=5",
            "--hvo=on",
            "--set-recommended-shmmax",
            "--set-recommended-min_free_kbytes",
            "--set-shm-group=x",
        ],
        |sim| sim,
    )
    .unwrap();
}

fn specs() -> impl Strategy<Value = Vec<String>> {
    let size = prop::sample::select(vec!["2MB", "DEFAULT", "1GB"]);
    let sign = prop::sample::select(vec!["", "+", "-"]);
    let whole = (size, sign, 0..300u64).prop_map(|(size, sign, n)| {
        let n = if size == "1GB" { n / 50 } else { n };
        format!("--pool-pages-min={size}:{sign}{n}")
    });
    let maximum = (0..400u64).prop_map(|n| format!("--pool-pages-max=2MB:{n}"));
    let demote = (0..4u64).prop_map(|n| format!("--demote=1GB:{n}"));
    prop::collection::vec(prop_oneof![3 => whole, 1 => maximum, 1 => demote], 1..4)
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn any_pools_on_any_kernel(specs in specs(), room in 0..500u64, used in 0..50u64) {
        let args: Vec<&str> = specs.iter().map(String::as_str).collect();
        same(&args, |sim| sim.room(None, size("2M"), room).used(size("2M"), used))?;
    }
}

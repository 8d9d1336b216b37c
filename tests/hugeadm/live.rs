//! hugeadm on the running machine, as root. `support::live` locks the machine, restores it, and
//! skips what it can't run.

mod growth;
mod interrupted;
mod mounts;
mod settings;
mod size_for;
mod who;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::memory::swap::Swap;
use hugetools_model::{Bytes, PageSize};

use crate::support::live::{Live, machine, skip};
use crate::support::tool::{Ran, Run, copy};

const GIB: u64 = 1 << 30;

fn gigantic() -> PageSize {
    PageSize::new(GIB).unwrap()
}

/// Returns the active swap files that hugeadm made; the machine may have others.
fn hugeadm_swaps(live: &Live) -> Vec<Swap> {
    let mut swaps = live.now().swaps;
    swaps.retain(|swap| swap.path.starts_with("/var/lib/hugetlbfs"));
    swaps
}

/// Checks that a dry run changes nothing, then runs hugeadm without `--dry-run`.
fn dry_then_real(live: &Live, args: &[&str]) -> Ran {
    let before = live.now();
    let dry = live.hugeadm(&[&["--dry-run"], args].concat());
    assert_eq!(dry.status, 0, "{dry:?}");
    let after = live.now();
    assert_eq!(
        (before.pools, before.mounts),
        (after.pools, after.mounts),
        "{dry:?}"
    );
    assert_eq!(before.sysctl, after.sysctl, "{dry:?}");
    live.hugeadm(args)
}

fn succeeds_silently(live: &Live, args: &[&str]) {
    let ran = dry_then_real(live, args);
    assert_eq!(
        (ran.status, ran.out.as_str(), ran.err.as_str()),
        (0, "", ""),
        "{args:?}"
    );
}

/// Whether all steps of a run with these options report `unchanged`.
fn is_settled(live: &Live, args: &[&str]) -> bool {
    let ran = live.hugeadm(&[&["--json"], args].concat());
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let tasks = document["tasks"].as_array().unwrap();
    let steps = tasks
        .iter()
        .flat_map(|task| task["steps"].as_array().unwrap());
    let outcomes: Vec<&serde_json::Value> = steps.map(|step| &step["outcome"]).collect();
    ran.status == 0 && !outcomes.is_empty() && outcomes.iter().all(|found| *found == "unchanged")
}

#[test]
fn pools_by_size_by_difference_by_node_and_by_share() {
    let Some(live) = machine("pools") else { return };
    let size = live.default_size();
    let pages_of = |bytes: u64| Bytes::new(bytes).pages(size).0.get();
    if live.now().meminfo.available < Some(Bytes::new(8 * GIB)) {
        return skip("pools", "less than 8 GiB are available").unwrap_or(());
    }
    succeeds_silently(&live, &["--pool-pages-min", "DEFAULT:2048MB"]);
    assert_eq!(live.pool(size).0, pages_of(2 * GIB));
    succeeds_silently(&live, &["--pool-pages-min", "DEFAULT:+16"]);
    assert_eq!(live.pool(size).0, pages_of(2 * GIB) + 16);
    if live.now().node(NodeId::new(0)).is_some() {
        succeeds_silently(&live, &["--pool-pages-min", &format!("{size}@0:64")]);
        let node = live.now().node(NodeId::new(0)).unwrap().clone();
        assert_eq!(node.pool(size).unwrap().minimum().get(), 64);
    }
    succeeds_silently(&live, &["--pool-pages-min", "DEFAULT:10%"]);
    assert_eq!(
        live.pool(size).0,
        pages_of(live.now().meminfo.total.percent(10).unwrap().get())
    );
}

#[test]
fn a_new_minimum_keeps_the_maximum() {
    let Some(live) = machine("maximum") else {
        return;
    };
    let size = live.default_size();
    succeeds_silently(
        &live,
        &["--pool-pages-min=DEFAULT:10", "--pool-pages-max=DEFAULT:15"],
    );
    assert_eq!(live.pool(size), (10, 5));
    for (option, after) in [
        ("--pool-pages-min=DEFAULT:12", (12, 3)),
        ("--pool-pages-min=DEFAULT:8", (8, 7)),
        ("--pool-pages-max=DEFAULT:30", (8, 22)),
        ("--pool-pages-max=DEFAULT:4", (4, 0)),
    ] {
        succeeds_silently(&live, &[option]);
        assert_eq!(live.pool(size), after, "{option}");
    }
}

#[test]
fn gigantic_pages() {
    let Some(live) = machine("gigantic pages") else {
        return;
    };
    if live.now().pool(gigantic()).is_none() {
        return skip("gigantic pages", "this machine has no 1 GiB pages").unwrap_or(());
    }
    let ran = dry_then_real(&live, &["--pool-pages-min", "1GB:2"]);
    let got = live.pool(gigantic()).0;
    match got {
        2 => assert_eq!((ran.status, ran.err.as_str()), (0, "")),
        _ => assert_eq!(ran.status, 3, "{got} pages\n{}", ran.err),
    }
    // As much as all RAM: never available while the machine runs.
    let asked = live.now().meminfo.total.get() / GIB;
    let ran = live.hugeadm(&["--force", "--pool-pages-min", &format!("1GB:{asked}")]);
    let got = live.pool(gigantic()).0;
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert!(
        ran.err.contains(&format!("asked {asked}, got {got}\n")),
        "{}",
        ran.err
    );
    let advice = format!("hugepagesz=1G hugepages={asked}, where the memory is large enough\n");
    assert!(ran.err.contains(&advice), "{}", ran.err);
}

#[test]
fn an_ordinary_user_can_list_and_plan_only() {
    let Some(live) = machine("ordinary user") else {
        return;
    };
    // The build directory may be closed to other users.
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("hugeadm");
    copy(env!("CARGO_BIN_EXE_hugeadm"), &program);
    let run = |args: &[&str]| -> Ran {
        let mut command = Command::new(&program);
        command.env_clear().args(args).uid(65534).gid(65534);
        command.ran()
    };
    assert_eq!(run(&["--pool-list"]), live.hugeadm(&["--pool-list"]));
    let args = ["--pool-pages-min", "DEFAULT:+5", "--create-mounts"];
    assert_eq!(run(&[&["-d"], &args[..]].concat()).status, 0);
    let before = live.now().pools;
    let ran = run(&args);
    assert_eq!(ran.status, 1);
    assert!(
        ran.err
            .contains("nr_hugepages: permission denied (EACCES)\n  run it as root"),
        "{}",
        ran.err
    );
    // The directories may exist from an earlier mount.
    let not_mounted = ["cannot make directory", "cannot mount a hugetlbfs on"];
    let is_reported = |what: &str| ran.err.contains(&format!("{what} /var/lib/hugetlbfs"));
    assert!(not_mounted.into_iter().any(is_reported), "{}", ran.err);
    assert_eq!(live.now().pools, before);
}

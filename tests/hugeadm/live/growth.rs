//! Pools that need extra measures to grow, on the running machine.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{gigantic, is_settled, succeeds};
use crate::support::live::{machine, skip};
use crate::support::tool::sh;

const DIR: &str = "/var/lib/hugetlbfs/swap";

#[test]
fn temporary_swap_is_added_and_removed() {
    let Some(live) = machine("temporary swap") else {
        return;
    };
    let size = live.default_size();
    let swap = "/var/lib/hugetlbfs/swap/temp/swapfile";
    let ran = live.hugeadm(&["-v", "--add-temp-swap=2", "--pool-pages-min", "DEFAULT:+3"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    for done in ["used as swap", "swapped off"] {
        assert!(ran.err.contains(&format!("{swap}: {done}\n")), "{ran:?}");
    }
    assert!(live.now().swaps.is_empty() && !Path::new(swap).exists());

    succeeds(
        &live,
        &[
            "--add-temp-swap=2",
            "--persist",
            "--pool-pages-min",
            "DEFAULT:+3",
        ],
    );
    let found = live.now().swaps;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, Path::new(DIR).join("swapfile-1"));
    let file = found[0].path.metadata().unwrap();
    assert_eq!((file.uid(), file.mode() & 0o7777), (0, 0o600));
    assert_eq!(file.len(), 2 * size.get());
    assert_eq!(Path::new(DIR).metadata().unwrap().mode() & 0o7777, 0o750);
    assert_eq!(
        Path::new("/var/lib/hugetlbfs").metadata().unwrap().mode() & 0o7777,
        0o755
    );
}

#[test]
fn swap_that_a_killed_run_left_is_named() {
    let Some(live) = machine("swap that is left") else {
        return;
    };
    let swap = format!("{DIR}/temp/swapfile");
    assert_eq!(sh(&format!("mkdir -p {DIR}/temp; touch {swap}")).status, 0);
    let ran = live.hugeadm(&["--add-temp-swap", "--pool-pages-min", "DEFAULT:+3"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let told = "a killed run left it, and this one removes it: run this again\n";
    assert!(ran.err.contains(told), "{ran:?}");
    assert!(!Path::new(&swap).exists());
}

/// More gigantic pages than possible: hugeadm tries every measure.
#[test]
fn hard_tries_everything_and_reports_it() {
    let Some(live) = machine("trying hard") else {
        return;
    };
    if live.now().pool(gigantic()).is_none() {
        return skip("trying hard", "this machine has no 1 GiB pages").unwrap_or(());
    }
    let asked = live.now().meminfo.total.get() >> 30;
    let spec = format!("1GB:{asked}");
    let args = [
        "--json",
        "--force",
        "--hard",
        "--add-temp-swap=0",
        "--pool-pages-min",
        &spec,
    ];
    let ran = live.hugeadm(&args);
    assert_eq!(ran.status, 3, "{ran:?}");
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let step = &document["tasks"][0]["steps"][0];
    assert_eq!(step["asked"], asked);
    assert_eq!(step["got"], live.pool(gigantic()).0);
    let tried = [
        "/proc/sys/vm/compact_memory",
        "/proc/sys/vm/drop_caches",
        "repeated attempts",
    ];
    assert_eq!(step["tried"], serde_json::json!(tried));
}

#[test]
fn the_script_grows_pools_and_mounts() {
    let Some(live) = machine("shell of growth") else {
        return;
    };
    let size = live.default_size();
    let args = [
        "--hard",
        "--add-temp-swap=2",
        "--pool-pages-min=DEFAULT:24",
        "--pool-pages-max=DEFAULT:40",
        "--create-user-mounts=daemon",
        "--thp-defrag=defer",
        "--set-recommended-shmmax",
    ];
    let script = live.hugeadm(&[&["--dry-run"], &args[..]].concat());
    let ran = sh(&script.out);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", script.out);
    assert_eq!(live.pool(size), (24, 16));
    assert!(live.now().swaps.is_empty());
    assert!(is_settled(&live, &args), "{}", script.out);
    let script = live.hugeadm(&["--dry-run", "--unmount"]);
    let ran = sh(&script.out);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", script.out);
    assert!(!Path::new("/var/lib/hugetlbfs/user").exists());
}

//! Pools that need extra measures to grow, on the running machine.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{hugeadm_swaps, is_settled, succeeds_silently};
use crate::support::live::machine;
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
    for done in ["used as swap", "removed from swap"] {
        assert!(ran.err.contains(&format!("{swap}: {done}\n")), "{ran:?}");
    }
    assert!(hugeadm_swaps(&live).is_empty() && !Path::new(swap).exists());

    succeeds_silently(
        &live,
        &[
            "--add-temp-swap=2",
            "--persist",
            "--pool-pages-min",
            "DEFAULT:+3",
        ],
    );
    let found = hugeadm_swaps(&live);
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
fn the_dry_run_script_works_in_sh() {
    let Some(live) = machine("dry-run script") else {
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
    assert!(hugeadm_swaps(&live).is_empty());
    assert!(is_settled(&live, &args), "{}", script.out);
    let script = live.hugeadm(&["--dry-run", "--unmount"]);
    let ran = sh(&script.out);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", script.out);
    assert!(!Path::new("/var/lib/hugetlbfs/user").exists());
}

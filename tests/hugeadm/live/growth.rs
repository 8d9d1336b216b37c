//! Pools that need extra measures to grow, on the running machine.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use super::{gigantic, is_settled, succeeds};
use crate::support::live::{machine, skip};
use crate::support::needs;
use crate::support::tool::{sh, tool};

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
    // One page of the file is its swap header.
    let page = live.now().base_page.unwrap().get();
    assert_eq!(found[0].size.get(), 2 * size.get() - page);
    let file = found[0].path.metadata().unwrap();
    assert_eq!((file.uid(), file.mode() & 0o7777), (0, 0o600));
    assert_eq!(Path::new(DIR).metadata().unwrap().mode() & 0o7777, 0o750);
    assert_eq!(
        Path::new("/var/lib/hugetlbfs").metadata().unwrap().mode() & 0o7777,
        0o755
    );
    let ran = live.hugeadm(&["--explain"]);
    assert!(!ran.out.contains("there is no swap"), "{ran:?}");
}

/// A terminal shows the progress of a slow pool; otherwise nothing is printed in the
/// meantime, as in the other tests.
#[test]
fn a_bar_on_a_terminal() {
    if !needs::terminal("progress bar") {
        return;
    }
    let Some(live) = machine("progress bar") else {
        return;
    };
    if live.now().pool(gigantic()).is_none() {
        return skip("progress bar", "this machine has no 1 GiB pages").unwrap_or(());
    }
    let asked = live.now().meminfo.total.get() >> 30;
    let program = tool("hugeadm").get_program().to_str().unwrap().to_owned();
    let hugeadm =
        format!("{program} --force --hard --add-temp-swap=0 --pool-pages-min 1GB:{asked}");
    let command = format!("stty cols 100; timeout -s INT 3 {hugeadm}");
    let mut script = Command::new("script");
    let shown = script
        .args(["-qec", &command, "/dev/null"])
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for part in [
        "1GB [",
        &format!(" of {asked} pages, "),
        " a second, ",
        " left",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown:?}");
    }
    let told = format!("asked {asked}, got {}\r\n", live.pool(gigantic()).0);
    assert!(shown.contains(&told), "{told:?} in {shown:?}");
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
    assert!(!Path::new("/var/lib/hugetlbfs").exists());
}

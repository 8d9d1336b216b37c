//! Compares listings with the hugeadm of libhugetlbfs 2.23 on copies of recorded machines, byte for
//! byte. (`libhugetlbfs/guest.rs` compares all effects on a real kernel.)

mod guest;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::libhugetlbfs::{HUGEADM, can_run_hugeadm, inside};
use crate::support::tool::{Ran, tool};
use crate::support::tree::{self, machines};

fn ours() -> PathBuf {
    PathBuf::from(tool("hugeadm").get_program())
}

fn both(dir: &Path, args: &[&str]) -> (Ran, Ran) {
    (
        inside(dir, Path::new(HUGEADM), args),
        inside(dir, &ours(), args),
    )
}

#[test]
fn listings_are_equal_byte_for_byte() {
    if !can_run_hugeadm("listings of libhugetlbfs") {
        return;
    }
    let mut compared = 0;
    for machine in machines() {
        let dir = tree::machine(&machine);
        // Without huge pages libhugetlbfs refuses any option. It also needs a mount table,
        // which some recordings lack.
        let file = |path: &str| fs::metadata(dir.path().join(path)).is_ok();
        if !file("sys/kernel/mm/hugepages") || !file("proc/mounts") {
            continue;
        }
        for args in [
            &["--pool-list"][..],
            &["--page-sizes-all"],
            &["--page-sizes"],
            &["--list-all-mounts"],
            &["--list-all-mounts", "--page-sizes-all", "--pool-list"],
            &["--pool-l", "--verbose", "2"],
        ] {
            let (theirs, ours) = both(dir.path(), args);
            assert_eq!(
                (theirs.status, &theirs.out),
                (ours.status, &ours.out),
                "{machine} {args:?}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared}");
}

/// Other programs search the output of `--explain` for these prefixes.
#[test]
fn the_four_prefixes_are_those_of_libhugetlbfs() {
    if !can_run_hugeadm("prefixes of libhugetlbfs") {
        return;
    }
    let dir = tree::machine("x86_64-8node");
    // libhugetlbfs misreads the default `shmmax`.
    let path = dir.path().join("proc/sys/kernel/shmmax");
    tree::write(&path, "33554432\n");
    // We print no line for the default group, 0.
    let group = dir.path().join("proc/sys/vm/hugetlb_shm_group");
    tree::write(&group, "7\n");
    let (theirs, ours) = both(dir.path(), &["--explain"]);
    for prefix in [
        "Total System Memory:",
        "A /proc/sys/kernel/shmmax value of",
        "  kernel.shmmax = ",
        "  vm.hugetlb_shm_group = ",
    ] {
        let value = |ran: &Ran| {
            let mut rest = ran.out.lines().filter_map(|line| line.strip_prefix(prefix));
            let value = rest
                .next()
                .unwrap_or_else(|| panic!("{prefix} in {ran:?}"))
                .to_owned();
            assert_eq!(rest.next(), None, "{prefix}");
            value.split_whitespace().next().unwrap().to_owned()
        };
        assert_eq!(value(&theirs), value(&ours), "{prefix}");
    }
}

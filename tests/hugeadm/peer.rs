//! Compares with the hugeadm of libhugetlbfs 2.23 on copies of recorded machines.
//! Listings are equal byte for byte. Effects are equal, except for the man page's table
//! of differences. (`peer/guest.rs` does the same on a real kernel.)

mod guest;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::bless;
use crate::support::peer::{PEER, inside, is_here};
use crate::support::tool::{Ran, tool};
use crate::support::tree::{self, difference, machines, snapshot};

/// Returns the rows of the man page's table: the peer's behaviour.
pub(super) fn differences() -> Vec<String> {
    let page = bless::text("man/hugeadm.8");
    let (_, table) = page
        .split_once(".SH DIFFERENCES FROM LIBHUGETLBFS\n")
        .unwrap();
    let (table, _) = table.split_once(".TE\n").unwrap();
    let cells: Vec<&str> = table.split("T{\n").skip(3).collect();
    let left = cells
        .chunks(2)
        .map(|row| row[0].split("\nT}").next().unwrap());
    left.map(|text| text.replace("\\-", "-").replace('\n', " "))
        .collect()
}

/// Checks that an intended difference is in the table.
pub(super) fn meant(row: &str) {
    assert!(
        differences().iter().any(|found| found == row),
        "not in the table: {row}"
    );
}

fn ours() -> PathBuf {
    PathBuf::from(tool("hugeadm").get_program())
}

fn both(dir: &Path, args: &[&str]) -> (Ran, Ran) {
    (
        inside(dir, Path::new(PEER), args),
        inside(dir, &ours(), args),
    )
}

#[test]
fn listings_are_equal_byte_for_byte() {
    if !is_here("listings of the peer") {
        return;
    }
    let mut compared = 0;
    for machine in machines() {
        let dir = tree::machine(&machine);
        // Without huge pages the peer refuses any option. It also needs a mount table,
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
            let (peer, ours) = both(dir.path(), args);
            assert_eq!(
                (peer.status, &peer.out),
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
fn the_four_prefixes_are_those_of_the_peer() {
    if !is_here("prefixes of the peer") {
        return;
    }
    let dir = tree::machine("x86_64-8node");
    // The peer misreads the default limit.
    let path = dir.path().join("proc/sys/kernel/shmmax");
    tree::write(&path, "33554432\n");
    // A default value needs no line.
    let group = dir.path().join("proc/sys/vm/hugetlb_shm_group");
    tree::write(&group, "7\n");
    let (peer, ours) = both(dir.path(), &["--explain"]);
    meant("--explain advises in prose, and warns on standard error");
    assert!(
        peer.err.contains("WARNING") && !peer.out.contains("-> "),
        "{peer:?}"
    );
    assert!(ours.err.is_empty(), "{ours:?}");
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
        assert_eq!(value(&peer), value(&ours), "{prefix}");
    }
}

/// Returns a tree with a pool of another size than the default.
fn with_pool(pages: u64, overcommit: u64) -> tempfile::TempDir {
    let dir = tree::machine("aarch64-4k");
    let pool = dir.path().join("sys/kernel/mm/hugepages/hugepages-64kB");
    for (file, number) in [
        ("nr_hugepages", pages),
        ("nr_overcommit_hugepages", overcommit),
        ("surplus_hugepages", 0),
    ] {
        tree::write(&pool.join(file), &format!("{number}\n"));
    }
    dir
}

/// Returns minimum and overcommit. Neither tool truncates a file before a write, since
/// kernel files don't need that. All values have three digits, so no old digit is left.
fn pool(dir: &Path) -> (u64, u64) {
    let pool = dir.join("sys/kernel/mm/hugepages/hugepages-64kB");
    let number = |file: &str| tree::text(&pool.join(file)).trim().parse().unwrap();
    (number("nr_hugepages"), number("nr_overcommit_hugepages"))
}

#[test]
fn pools_have_the_same_final_size() {
    if !is_here("pools of the peer") {
        return;
    }
    for (args, after) in [
        (&["--pool-pages-min", "64K:600"][..], (600, 100)),
        (&["--pool-pages-min", "64K:400"], (400, 300)),
        (&["--pool-pages-min", "64K:800"], (800, 0)),
        (&["--pool-pages-min", "64K:+50"], (550, 150)),
        (&["--pool-pages-min", "64K:-50"], (450, 250)),
        (&["--pool-pages-min", "64K:0x200"], (512, 188)),
        (&["--pool-pages-min", "64K:32M"], (512, 188)),
        (&["--pool-pages-max", "64K:900"], (500, 400)),
        (&["--pool-pages-max", "64K:300"], (300, 0)),
        (&["--pool-pages-max", "64K:+100"], (500, 300)),
        (
            &["--pool-pages-min", "64K:600", "--pool-pages-max", "64K:750"],
            (600, 150),
        ),
        (
            &["--obey-mempolicy", "--pool-pages-max", "64K:650"],
            (500, 150),
        ),
    ] {
        for program in [Path::new(PEER), &ours()] {
            let dir = with_pool(500, 200);
            let ran = inside(dir.path(), program, args);
            assert_eq!(ran.status, 0, "{program:?} {args:?} {ran:?}");
            assert_eq!(pool(dir.path()), after, "{program:?} {args:?}");
        }
    }
}

#[test]
fn repeated_specifications_apply_in_order() {
    if !is_here("repeated specifications of the peer") {
        return;
    }
    meant("Repeated specifications take effect from the last to the first");
    let args = [
        "--pool-pages-min",
        "64K:600",
        "--pool-pages-min",
        "64K:+100",
    ];
    let after = |program: &Path| {
        let dir = with_pool(500, 200);
        inside(dir.path(), program, &args);
        pool(dir.path()).0
    };
    assert_eq!((after(Path::new(PEER)), after(&ours())), (600, 700));
}

#[test]
fn a_dry_run_changes_nothing_unlike_the_peers() {
    if !is_here("dry runs of the peer") {
        return;
    }
    meant("--dry-run writes pools, shmmax and the group");
    meant("Recommendations lower limits, and count zones without memory");
    for args in [
        &["--dry-run", "--pool-pages-min", "64K:600"][..],
        &["--dry-run", "--set-recommended-shmmax"],
        &["--dry-run", "--set-shm-group", "1"],
    ] {
        let changes = |program: &Path| {
            let dir = with_pool(500, 200);
            let before = snapshot(dir.path());
            let ran = inside(dir.path(), program, args);
            assert_eq!(ran.status, 0, "{program:?} {args:?} {ran:?}");
            !difference(&before, &snapshot(dir.path())).is_empty()
        };
        assert!(
            changes(Path::new(PEER)),
            "the peer has been mended: {args:?}"
        );
        assert!(!changes(&ours()), "{args:?}");
    }
}

/// Input that the peer misunderstands or rejects too late.
#[test]
fn the_command_line_is_parsed_strictly() {
    if !is_here("command lines of the peer") {
        return;
    }
    meant("2mfoo, DEFAULT:12abc and DEFAULT:5:6 are taken");
    meant("An amount that overflows empties the pool");
    meant("A stray operand is found after everything was done, status 1");
    for args in [
        &["--pool-pages-min", "64kfoo:600"][..],
        &["--pool-pages-min", "64K:600abc"],
        &["--pool-pages-min", "64K:600:7"],
        &["--pool-pages-min", "64K:17179869184G"],
        &["--pool-pages-min", "64K:600", "stray"],
        &["--max-size", "lots", "--pool-pages-min", "64K:600"],
    ] {
        let changed = |program: &Path| {
            let dir = with_pool(500, 200);
            let ran = inside(dir.path(), program, args);
            (pool(dir.path()) != (500, 200), ran.status)
        };
        assert!(
            changed(Path::new(PEER)).0,
            "the peer has been mended: {args:?}"
        );
        assert_eq!(changed(&ours()), (false, 2), "{args:?}");
    }
}

#[test]
fn names_of_options_are_accepted_as_documented() {
    if !is_here("options of the peer") {
        return;
    }
    meant("--obey-numa-mempol is documented and refused");
    meant("--persist lists the mounts");
    meant("--help goes to standard error");
    meant("No nodes, shares, T, or GiB in specifications");
    meant("A dry run prints a block of commands for each directory");
    meant("--max-size takes any text for a size without end");
    let dir = with_pool(500, 200);
    let args = ["--obey-numa-mempol", "--pool-pages-max", "64K:700"];
    let (peer, ours) = both(dir.path(), &args);
    assert_eq!((peer.status, ours.status), (1, 0), "{ours:?}");
    let (peer, ours) = both(dir.path(), &["--persist", "--pool-list"]);
    assert!(peer.out.contains("Mount Point") && !ours.out.contains("Mount Point"));
    let (peer, ours) = both(dir.path(), &["--help"]);
    assert_eq!((peer.out.is_empty(), ours.err.is_empty()), (true, true));
    assert_eq!((peer.status, ours.status), (0, 0));
    let lines = |ran: &Ran| ran.out.lines().count();
    let (peer, ours) = both(dir.path(), &["--dry-run", "--create-mounts"]);
    assert!(lines(&peer) > 50 && lines(&ours) < 12, "{ours:?}");
    let (peer, ours) = both(
        dir.path(),
        &["--dry-run", "--create-mounts", "--max-size", "lots"],
    );
    assert!(
        peer.out.contains("size=18446744073709551615") && ours.status == 2,
        "{peer:?}"
    );
    let (peer, ours) = both(dir.path(), &["--pool-pages-max", "64K@0:600"]);
    assert_eq!((peer.status, ours.status), (0, 2), "{peer:?} {ours:?}");
}

/// A machine without huge pages, a refused write, a mount table with long lines: the peer
/// gives up, or prints nothing.
#[test]
fn machines_on_which_the_peer_gives_up() {
    if !is_here("the peer's limits") {
        return;
    }
    meant("Without huge pages any option is an error");
    let dir = tree::machine("s390x");
    let (peer, ours) = both(dir.path(), &["--pool-list"]);
    assert_eq!((peer.status, ours.status), (1, 0));

    meant(
        "A line of 2048 bytes ends the reading of the mount table; /proc/meminfo may not have as many",
    );
    let dir = tree::machine("x86_64-8node");
    let meminfo = dir.path().join("proc/meminfo");
    let long = tree::text(&meminfo) + &"Padding: 1 kB\n".repeat(100);
    tree::write(&meminfo, &long);
    let (peer, ours) = both(dir.path(), &["--pool-list"]);
    assert!(
        !peer.out.contains("2097152"),
        "the peer has been mended: {peer:?}"
    );
    assert!(ours.out.contains("2097152"), "{ours:?}");
}

/// Every row must be tested, since an untested row may be outdated.
#[test]
fn every_row_of_the_table_is_tested() {
    // Visible only with two concurrent runs, or by the duration.
    let others = [
        "Two runs at once undo each other",
        "--hard waits and writes again",
    ];
    let tests =
        ["peer.rs", "peer/guest.rs"].map(|file| bless::text(format!("tests/hugeadm/{file}")));
    let rows = differences();
    assert!(rows.len() > 20, "{rows:?}");
    for row in rows {
        let tried = tests.iter().any(|text| text.contains(&row));
        assert!(tried || others.contains(&row.as_str()), "{row}");
    }
}

//! Pools that lack memory: what hugeadm tries, when it gives up, and the state after a signal.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use hugetools_admin::effects::Effects;
use hugetools_admin::report::{NotRun, Outcome, Status, status};
use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::sim::Sim;

use crate::hugeadm::world::{NODES, World, lines, outcomes, size};
use crate::support::tree;

const COMPACT: &str = "/proc/sys/vm/compact_memory";
const CACHES: &str = "/proc/sys/vm/drop_caches";
const SWAP: &str = "/var/lib/hugetlbfs/swap/temp/swapfile";

/// Returns a machine with memory for 500 pages of 2 MiB; `kernel` can add some.
fn scarce(kernel: impl Fn(Sim) -> Sim) -> World {
    World::new(NODES, |sim| kernel(sim.room(None, size("2M"), 500)))
}

/// The outcome of a request for 900 pages.
fn short(got: u64, tried: &[&str]) -> Outcome {
    Outcome::Short {
        asked: 900,
        got,
        tried: tried.iter().map(|&step| step.to_owned()).collect(),
        interrupted: false,
    }
}

#[test]
fn memory_is_compacted_before_giving_up() {
    let mut world = scarce(|sim| sim.room_after(COMPACT, size("2M"), 1000));
    let tasks = world.run(&["--pool-pages-min", "2MB:900"]);
    assert_eq!(*outcomes(&tasks)[0], Outcome::changed(74, 900));

    let mut world = scarce(|sim| sim.room_after(COMPACT, size("2M"), 600));
    let tasks = world.run(&["--pool-pages-min", "2MB:900"]);
    assert_eq!(*outcomes(&tasks)[0], short(600, &[COMPACT]));
    assert_eq!(status(&tasks), Status::Short);
    assert!(lines(&tasks)[0].contains("run this again with --hard"));
}

/// Linux 6.19 can overcommit gigantic pages, but it needs contiguous memory for them, too.
#[test]
fn a_shortage_of_gigantic_pages_advises_boot_parameters() {
    let mut world = World::new(NODES, |sim| sim.room(None, size("1G"), 0));
    let release = world.dir.path().join("proc/sys/kernel/osrelease");
    tree::write(&release, "6.19.0\n");
    let messages = lines(&world.run(&["--pool-pages-min", "1GB:1"]));
    assert!(messages[0].contains("reserve them at boot"), "{messages:?}");
}

#[test]
fn a_node_compacts_its_own_memory() {
    let mut world = World::new(NODES, |sim| sim.room(Some(NodeId::new(1)), size("2M"), 20));
    let tasks = world.run(&["--pool-pages-min", "2MB@1:30"]);
    let compact = "/sys/devices/system/node/node1/compact";
    let tried =
        matches!(outcomes(&tasks)[0], Outcome::Short { got: 20, tried, .. } if tried == &[compact]);
    assert!(tried, "{tasks:?}");
}

#[test]
fn hard_drops_caches() {
    let mut world = scarce(|sim| sim.room_after(CACHES, size("2M"), 1000));
    let tasks = world.run(&["--hard", "--pool-pages-min", "2MB:900"]);
    assert_eq!(status(&tasks), Status::Done);
    assert_eq!(world.calls, ["sync"]);
}

#[test]
fn the_search_continues_while_there_is_progress() {
    let mut world = scarce(|sim| sim.trickle(size("2M"), 50));
    let tasks = world.run(&["--hard", "--pool-pages-min", "2MB:900"]);
    assert_eq!(*outcomes(&tasks)[0], Outcome::changed(74, 900));

    let mut world = scarce(|sim| sim);
    let tasks = world.run(&["--hard", "--pool-pages-min", "2MB:900"]);
    let tried = [COMPACT, CACHES, "repeated attempts"];
    assert_eq!(*outcomes(&tasks)[0], short(500, &tried));
    let pauses = world.calls.iter().filter(|call| call.starts_with("pause"));
    assert_eq!(pauses.count(), 5);
    // The maximum stays, so the kernel may still allocate the missing pages as surplus.
    assert_eq!(world.pool(size("2M")), (500, 900));
}

#[test]
fn failed_measures_are_reported_and_others_are_tried() {
    let mut world = scarce(|sim| {
        sim.refuse(COMPACT, libc::ENOENT)
            .refuse(CACHES, libc::EACCES)
    });
    let tasks = world.run(&["--hard", "--pool-pages-min", "2MB:900"]);
    let tried = [
        "cannot write 1 to /proc/sys/vm/compact_memory: no such file or directory (ENOENT)",
        "cannot write 1 to /proc/sys/vm/drop_caches: permission denied (EACCES)",
        "repeated attempts",
    ];
    assert_eq!(*outcomes(&tasks)[0], short(500, &tried));
}

#[test]
fn temporary_swap_is_enabled_while_the_pool_grows() {
    let mut world = scarce(|sim| sim);
    let tasks = world.run(&["--add-temp-swap=3", "--pool-pages-min", "2MB:400"]);
    assert_eq!(status(&tasks), Status::Done);
    let calls: Vec<&str> = world.calls.iter().map(String::as_str).collect();
    let (on, off) = (format!("swap_on {SWAP}"), format!("swap_off {SWAP}"));
    assert!(calls.ends_with(&[&on, &off]), "{calls:?}");
    assert!(world.now().swaps.is_empty());
    // No swap is made for a shrinking pool or a swap size of 0.
    for args in [
        ["--add-temp-swap", "--pool-pages-min=2MB:5"],
        ["--add-temp-swap=0", "--pool-pages-min=2MB:450"],
    ] {
        world.calls.clear();
        world.run(&args);
        assert!(
            !world.calls.iter().any(|call| call.contains("swap")),
            "{args:?}"
        );
    }
}

#[test]
fn a_ram_disk_in_use_as_swap_is_left_alone() {
    let mut world = scarce(|sim| sim);
    for disk in ["ram0", "ram1"] {
        let dir = world.dir.path().join("sys/block").join(disk);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("size"), "8192\n").unwrap();
    }
    let swaps = world.dir.path().join("proc/swaps");
    tree::write(&swaps, "Filename\n/dev/ram0 partition 4096 0 -2\n");
    world.run(&["--add-ramdisk-swap", "--pool-pages-min", "2MB:400"]);
    assert_eq!(world.calls, ["swap_on /dev/ram1", "swap_off /dev/ram1"]);
}

/// A node's growth uses swap even if the whole pool doesn't grow.
#[test]
fn temporary_swap_for_a_node_is_removed() {
    let mut world = World::new(NODES, |sim| sim.room(Some(NodeId::new(1)), size("2M"), 20));
    let tasks = world.run(&["--add-temp-swap", "--pool-spread=2MB@0,1:64"]);
    assert_eq!(status(&tasks), Status::Short);
    assert!(world.calls.contains(&format!("swap_on {SWAP}")));
    assert!(world.now().swaps.is_empty());
}

#[test]
fn each_persistent_swap_file_has_its_own_name() {
    let mut world = scarce(|sim| sim);
    for pages in ["2MB:100", "2MB:200"] {
        world.run(&["--persist", "--add-temp-swap", "--pool-pages-min", pages]);
    }
    let swaps = world.now().swaps.into_iter().map(|swap| swap.path);
    let swaps: Vec<String> = swaps.map(|path| path.display().to_string()).collect();
    let dir = "/var/lib/hugetlbfs/swap";
    assert_eq!(
        swaps,
        [format!("{dir}/swapfile-1"), format!("{dir}/swapfile-2")]
    );
}

#[test]
fn a_pool_grows_even_if_swap_fails() {
    let mut world = scarce(|sim| sim);
    world.refused = Some(("swap_on", libc::ENOSPC));
    let tasks = world.run(&["--add-temp-swap", "--pool-pages-min", "2MB:400"]);
    assert_eq!(status(&tasks), Status::Failed);
    assert_eq!(world.pool(size("2M")).0, 400);
    let messages = lines(&tasks);
    assert_eq!(
        messages[0],
        format!("cannot use {SWAP} as swap: no space left on device (ENOSPC)")
    );
}

/// After a signal, the maximum is the initial one or a task's, temporary swap is removed, and
/// skipped steps are reported.
#[test]
fn a_signal_leaves_a_consistent_pool_and_no_swap() {
    let args = [
        "--hard",
        "--add-temp-swap",
        "--pool-pages-min=2MB:900",
        "--pool-pages-max=2MB:1000",
        "--create-mounts",
    ];
    let (mut interruptions, mut short_pools) = (0, 0);
    for at in (0..60).step_by(5) {
        let mut world = scarce(|sim| sim.trickle(size("2M"), 20));
        world.signal_at = Some(at);
        let tasks = world.run(&args);
        let (minimum, maximum) = world.pool(size("2M"));
        assert!(
            [81, 900, 1000].contains(&maximum),
            "{at}: {minimum} {maximum}"
        );
        assert!(world.now().swaps.is_empty(), "{at}");
        let interrupted = outcomes(&tasks).into_iter().any(|outcome| {
            matches!(
                outcome,
                Outcome::NotRun {
                    why: NotRun::Interrupted
                }
            )
        });
        // Mounts are the last step.
        let is_complete = world.now().mounts.len() == 5;
        assert_eq!(interrupted, !is_complete, "{at}");
        interruptions += usize::from(interrupted);
        let messages = lines(&tasks).join("\n");
        if minimum < 900 && interrupted && messages.contains("asked 900, got") {
            assert!(
                messages.contains("a signal ended the search"),
                "{at}: {messages}"
            );
            short_pools += 1;
        }
        assert!(world.interrupted() || is_complete);
    }
    assert!(
        interruptions > 3 && short_pools > 0,
        "{interruptions} {short_pools}"
    );
}

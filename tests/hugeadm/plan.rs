//! Plans for recorded machines, as scripts for a running kernel. Transcripts have scripts for a tree.

use hugetools_admin::plan::shell::script;

use super::world::{NODES, World, size};
use crate::support::tool::hugeadm;
use crate::support::tree;

/// Returns the script, without the tree's path.
fn plan(machine: &str, args: &[&str]) -> String {
    let mut world = World::new(machine, |sim| sim);
    let text = script(&world.plan(args), &world.root);
    text.replace(world.dir.path().to_str().unwrap(), "")
}

#[test]
fn mounts_and_their_directories_get_owner_and_mode() {
    assert_eq!(
        plan("x86_64-no-1g", &["--create-global-mounts"]),
        "\
[ -d /var/lib/hugetlbfs/global ] || (umask 022 && mkdir -p /var/lib/hugetlbfs/global)
[ -d /var/lib/hugetlbfs/global/pagesize-2MB ] || { mkdir -m 1777 /var/lib/hugetlbfs/global/pagesize-2MB && chown 0:0 /var/lib/hugetlbfs/global/pagesize-2MB; }
mount -t hugetlbfs none /var/lib/hugetlbfs/global/pagesize-2MB -o pagesize=2097152,uid=0,gid=0,mode=1777
"
    );
}

#[test]
fn an_existing_mount_is_repaired() {
    let text = plan("x86_64-8node", &["--create-global-mounts"]);
    let point = "/var/lib/hugetlbfs/global/pagesize-2MB";
    assert!(
        text.contains(&format!("chown 0:0 {point} && chmod 1777 {point}\n")),
        "{text}"
    );
    assert!(!text.contains(&format!("none {point}")), "{text}");
}

/// The mount has `size=67108864` and `nr_inodes=100`.
#[test]
fn a_mount_with_other_limits_is_an_error() {
    for (args, message) in [
        (
            &["--max-size=0"][..],
            "there has size=67108864, not size unset",
        ),
        (
            &["--max-inodes=0"],
            "there has nr_inodes=100, not nr_inodes unset",
        ),
        (
            &["--max-size=33M"],
            "there has size=67108864, not size=33554432",
        ),
    ] {
        let text = plan(NODES, &[args, &["--create-global-mounts"]].concat());
        assert!(text.contains(message), "{args:?}: {text}");
    }
    let text = plan(NODES, &["--create-mounts", "--max-size=1GB"]);
    assert!(text.contains(",size=1073741824\n"), "{text}");
    let text = plan(
        NODES,
        &["--create-mounts", "--max-size=0", "--max-inodes=0"],
    );
    assert!(text.contains(",mode=0770\n"), "{text}");
    // 16 MB hold no page of 1 GB.
    let text = plan(NODES, &["--create-mounts", "--max-size=16M"]);
    assert!(!text.contains("pagesize-1GB"), "{text}");
}

/// `nr_hugepages` below `/sys` includes surplus pages, which a write doesn't set. The
/// sysctl excludes them.
#[test]
fn surplus_pages_are_not_taken_for_persistent_ones() {
    assert_eq!(
        plan("aarch64-4k", &["--pool-pages-min=64K:20"]),
        "\
echo 20 > /sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages
! [ \"$(($(cat /sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages) - $(cat /sys/kernel/mm/hugepages/hugepages-64kB/surplus_hugepages)))\" -lt 20 ] || { [ ! -w /proc/sys/vm/compact_memory ] || echo 1 > /proc/sys/vm/compact_memory; echo 20 > /sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages; }
echo $(n=$((20 - $(($(cat /sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages) - $(cat /sys/kernel/mm/hugepages/hugepages-64kB/surplus_hugepages))))); echo $((n > 0 ? n : 0))) > /sys/kernel/mm/hugepages/hugepages-64kB/nr_overcommit_hugepages
"
    );
    assert_eq!(
        plan("x86_64-8node", &["--pool-pages-min=2MB:80"]),
        "\
echo 80 > /proc/sys/vm/nr_hugepages
! [ \"$(cat /proc/sys/vm/nr_hugepages)\" -lt 80 ] || { [ ! -w /proc/sys/vm/compact_memory ] || echo 1 > /proc/sys/vm/compact_memory; echo 80 > /proc/sys/vm/nr_hugepages; }
echo $(n=$((81 - $(cat /proc/sys/vm/nr_hugepages))); echo $((n > 0 ? n : 0))) > /proc/sys/vm/nr_overcommit_hugepages
"
    );
}

#[test]
fn tasks_follow_the_options_table_not_the_command_line() {
    let args = [
        "--create-mounts",
        "--pool-pages-max=2MB:90",
        "--set-shm-group=x",
        "--pool-pages-min=1GB:1",
    ];
    let mut world = World::new("x86_64-8node", |sim| sim);
    let plan = world.plan(&args);
    let options: Vec<&str> = plan.tasks.iter().map(|task| task.option.as_str()).collect();
    assert_eq!(
        options,
        [
            "--set-shm-group x",
            "--pool-pages-min 1GB:1",
            "--pool-pages-max 2MB:90",
            "--create-mounts"
        ]
    );
    assert_eq!(world.pool(size("1G")), (0, 0), "planning does nothing");
}

/// Node 0 has 502 MB of memory, node 4 none.
#[test]
fn nodes_have_the_same_limits_as_the_machine() {
    for (spec, status, message) in [
        (
            "--pool-pages-min=2MB@0:1000",
            2,
            "the pools of node 0 would take 2000 MB",
        ),
        (
            "--pool-pages-min=2MB@4:16",
            2,
            "node 4 has no memory of its own",
        ),
        (
            "--pool-pages-min=2MB@4:50%",
            2,
            "node 4 has no memory of its own",
        ),
        (
            "--pool-spread=2MB@0,4:20",
            2,
            "node 4 has no memory of its own",
        ),
        (
            "--pool-pages-min=1GB@0:1",
            2,
            "the pools of node 0 would take 1152 MB",
        ),
        (
            "--pool-pages-min=2MB@0:240",
            1,
            "must stay for other programs",
        ),
        ("--pool-pages-min=2MB@4:0", 0, ""),
        ("--pool-pages-min=2MB@1:64", 0, ""),
    ] {
        let dir = tree::machine(NODES);
        let ran = hugeadm(dir.path(), &["--dry-run", spec]);
        assert_eq!(ran.status, status, "{spec}: {ran:?}");
        assert!(ran.err.contains(message), "{spec}: {ran:?}");
    }
    let dir = tree::machine(NODES);
    let ran = hugeadm(
        dir.path(),
        &["--dry-run", "--force", "--pool-pages-min=2MB@0:240"],
    );
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn a_maximum_beyond_all_memory_is_refused() {
    let dir = tree::machine(NODES);
    let ran = hugeadm(dir.path(), &["--pool-pages-max=2MB:100000"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(
        ran.err
            .contains("could grow to 200000 MB, but there are only 3930 MB"),
        "{ran:?}"
    );
}

/// Node 0 has 64 pages, all free.
#[test]
fn a_node_grows_from_the_pool_that_clear_left() {
    let text = plan(NODES, &["--clear", "--pool-pages-min=2MB@0:+5"]);
    assert!(
        text.contains("echo 5 > /sys/devices/system/node/node0/"),
        "{text}"
    );
}

//! Tests of the simulated kernel.

use super::*;
use crate::units::size::PageCount;

const MACHINE: &str = include_str!("../../../../tests/fixtures/x86_64-8node.tree");

fn size(text: &str) -> PageSize {
    text.parse().unwrap()
}

fn with(set: impl Fn(Sim) -> Sim) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    crate::fixture::unpack(MACHINE, dir.path()).unwrap();
    let root = Root::simulated(dir.path(), set(Sim::new(dir.path())));
    (dir, root)
}

#[test]
fn all_files_agree() {
    let (_dir, root) = with(|sim| sim.room(None, size("2M"), 100));
    root.write(&KPath::from("/proc/sys/vm/nr_hugepages"), "120")
        .unwrap();
    let machine = Machine::read(&root).unwrap();
    let pool = machine.default_pool().unwrap();
    assert_eq!(
        (pool.total, pool.minimum()),
        (PageCount::new(100), PageCount::new(100))
    );
    assert_eq!(machine.meminfo.huge_total, Some(PageCount::new(100)));
    let shares = machine
        .nodes
        .iter()
        .map(|n| n.pool(pool.size).unwrap().total.get());
    assert_eq!(shares.sum::<u64>(), 100);
    assert_eq!(machine.nodes[4].pool(pool.size).unwrap().total.get(), 0);
}

#[test]
fn measures_yield_memory() {
    let two = size("2M");
    let (_dir, root) = with(|sim| {
        sim.room(None, two, 100)
            .room_after("/proc/sys/vm/compact_memory", two, 120)
            .trickle(two, 5)
    });
    let ask = || {
        let path = KPath::from("/proc/sys/vm/nr_hugepages");
        root.write(&path, "200").unwrap();
        root.number(&path).unwrap()
    };
    assert_eq!((ask(), ask()), (100, 105));
    root.write(&KPath::from("/proc/sys/vm/compact_memory"), "1")
        .unwrap();
    assert_eq!((ask(), ask()), (120, 125));
}

#[test]
fn demotion_moves_pages_between_pools() {
    let (_dir, root) = with(|sim| sim.used(size("1G"), 1));
    root.write(&node::node_pool_path(NodeId::new(3), size("1G")), "3")
        .unwrap();
    root.write(&pool::demote_path(size("1G")), "9").unwrap();
    let machine = Machine::read(&root).unwrap();
    let pages = |text| machine.pool(size(text)).unwrap().minimum().get();
    assert_eq!((pages("1G"), pages("2M")), (1, 74 + 2 * 512));
    let node = machine.node(NodeId::new(3)).unwrap();
    assert_eq!(node.pool(size("2M")).unwrap().total.get(), 10 + 2 * 512);
}

#[test]
fn pages_in_use_become_surplus() {
    let (_dir, root) = with(|sim| sim.used(size("2M"), 30));
    root.write(&KPath::from("/proc/sys/vm/nr_hugepages"), "20")
        .unwrap();
    let pool = Machine::read(&root).unwrap().pools[0].clone();
    assert_eq!(
        (pool.total.get(), pool.surplus.get(), pool.minimum().get()),
        (30, 10, 20)
    );
}

#[test]
fn refusals_and_gigantic_overcommit() {
    let (_dir, root) = with(|sim| {
        sim.refuse("/proc/sys/vm/nr_hugepages", libc::EPERM)
            .fail_after(1)
    });
    let write = |path: &'static str| root.write(&KPath::from(path), "1").unwrap_err().errno();
    assert_eq!(write("/proc/sys/vm/nr_hugepages"), Some(libc::EPERM));
    let gigantic = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_overcommit_hugepages";
    assert_eq!(write(gigantic), Some(libc::EINVAL));
    assert_eq!(write("/proc/sys/vm/hugetlb_shm_group"), Some(libc::EIO));
}

//! Debian 11's kernel, which `HUGETOOLS_OLD_KERNEL` names, in a virtual machine. It lacks
//! `MADV_POPULATE_WRITE` (Linux 5.14), `mremap` of hugetlb pages (5.16), write protection of
//! hugetlb pages by `userfaultfd` (5.19) and `MADV_COLLAPSE` (6.1).

use crate::libs::numa::{Output, Pools, binds, equipped, forks, node};
use crate::libs::smaps::HeapPages;
use crate::support::guest::guest_with_kernel_of;
use crate::support::program::{Libc, build};
use crate::support::tool::Ran;

/// Programs for the commands, and their places.
const PROGRAMS: [(&str, &str); 4] = [
    ("blocks", "/bin/blocks"),
    ("contract/forks", "/bin/forks"),
    ("anon", "/bin/anon"),
    ("anon_calls", "/bin/anon_calls"),
];

const HEAPS: [&str; 8] = [
    "uname -r",
    "hugeadm --pool-pages-min 2MB:40 --pool-pages-max 2MB:40",
    "hugectl --heap blocks medium 100",
    "mkdir /cgroup; mount -t cgroup2 none /cgroup; cd /cgroup; mkdir some
     echo +hugetlb > cgroup.subtree_control; echo 20M > some/hugetlb.2MB.max
     echo 0 > some/cgroup.procs; hugectl --heap blocks medium 100",
    "hugectl --heap -q forks 2 0 print",
    "hugectl --heap -q forks 2 2 print",
    "grep HugePages_Free /proc/meminfo",
    "hugeadm --pool-pages-min 2MB:0 --pool-pages-max 2MB:0; hugectl --heap blocks medium 100",
];

const POLICIES: [&str; 3] = [
    "hugeadm --pool-pages-min 2MB@0-1:100",
    "hugectl --heap -q numa binds",
    "hugectl --heap -q numa fork-threads",
];

/// This kernel doesn't align mappings to huge pages.
const MAPPINGS: [&str; 5] = [
    "hugeadm --pool-pages-min 2MB:0 --thp-madvise",
    "hugectl --anon anon map populate protect fixed again",
    "hugectl --anon anon odd small",
    "anon_calls",
    "hugectl --anon anon_calls",
];

/// One guest for all, since a boot costs more than the commands.
#[test]
fn heaps_forks_policies_and_mappings() {
    let nodes = [node(800), node(800)];
    let Some(mut guest) = guest_with_kernel_of("HUGETOOLS_OLD_KERNEL", "an old kernel", &nodes)
    else {
        return;
    };
    for (name, place) in PROGRAMS {
        let Some(program) = build(name, Libc::Glibc, &[]) else {
            return;
        };
        guest.install(&program, place);
    }
    let Some(guest) = equipped("an old kernel", guest) else {
        return;
    };
    let commands = [&HEAPS[..], &POLICIES, &MAPPINGS].concat();
    let runs = guest.run(&commands);
    for (command, ran) in commands.iter().zip(&runs) {
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
    }
    let (heaps, rest) = runs.split_at(HEAPS.len());
    let (policies, mappings) = rest.split_at(POLICIES.len());
    check_heaps(heaps);
    for ((command, check), ran) in POLICIES[1..].iter().zip([binds, forks]).zip(&policies[1..]) {
        check(&Output {
            command,
            pools: Pools::Both,
            ran,
        });
    }
    check_mappings(mappings);
}

/// Checks the output about heaps and forks.
fn check_heaps(runs: &[Ran]) {
    assert!(runs[0].out.starts_with("5.10."), "{:?}", runs[0]);
    for (number, least, most) in [(2, 80 << 10, 80 << 10), (3, 18 << 10, 20 << 10), (7, 0, 0)] {
        let ran = &runs[number];
        let pages = HeapPages::find(&ran.out, "medium");
        assert!((least..=most).contains(&pages.hugetlb), "{ran:?}");
        let huge = pages.share(pages.hugetlb + pages.thp);
        assert!(huge >= 95, "{ran:?}");
    }
    for ran in &runs[4..6] {
        let before = HeapPages::find(&ran.out, "before");
        assert!(before.share(before.hugetlb) >= 60, "{ran:?}");
        assert!(ran.out.ends_with("right\n"), "{ran:?}");
    }
    let free = &runs[6].out;
    assert!(free.ends_with(" 40\n"), "{free}");
}

/// Checks the output about private mappings.
fn check_mappings(runs: &[Ran]) {
    let shares = |ran: &Ran| -> Vec<u64> {
        let words = ran.out.split([' ', '\n']);
        let shares = words.filter_map(|word| word.strip_prefix("huge=")?.parse().ok());
        shares.collect()
    };
    let large = shares(&runs[1]);
    assert_eq!(large.len(), 5, "{:?}", runs[1]);
    assert!(large.iter().all(|huge| *huge >= 90), "{:?}", runs[1]);
    // One huge page of 3 MiB, and none of 1 MiB.
    assert_eq!(shares(&runs[2]), [66, 0], "{:?}", runs[2]);
    assert_eq!(runs[3], runs[4]);
}

//! Debian 11's kernel in a virtual machine, if `HUGETOOLS_OLD_KERNEL` names it. It lacks
//! `MADV_POPULATE_WRITE` (Linux 5.14), `mremap` of hugetlb pages (5.16), write protection of
//! hugetlb pages by `userfaultfd` (5.19) and `MADV_COLLAPSE` (6.1).

use crate::libs::numa::{Output, Pools, binds, equipped, forks, node};
use crate::libs::smaps::HeapPages;
use crate::support::guest::{Guest, guest_of};
use crate::support::program::{Libc, build};
use crate::support::tool::Ran;

/// Returns the machine, with these programs.
fn machine(test: &str, programs: &[(&str, &str)]) -> Option<Guest> {
    let mut guest = guest_of("HUGETOOLS_OLD_KERNEL", test, &[node(800), node(800)])?;
    for (name, place) in programs {
        guest.install(&build(name, Libc::Glibc, &[])?, place);
    }
    equipped(test, guest)
}

/// Runs commands, all of which must succeed.
fn run(guest: &Guest, commands: &[&str]) -> Vec<Ran> {
    let answers = guest.run(commands);
    for (command, ran) in commands.iter().zip(&answers) {
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
    }
    answers
}

const POOL_OF_40: &str = "hugeadm --pool-pages-min 2MB:40 --pool-pages-max 2MB:40";

#[test]
fn heaps_and_forks() {
    let programs = [("blocks", "/bin/blocks"), ("contract/forks", "/bin/forks")];
    let Some(guest) = machine("an old kernel's heap", &programs) else {
        return;
    };
    let answers = run(
        &guest,
        &[
            "uname -r",
            POOL_OF_40,
            "hugectl --heap blocks medium 100",
            "mkdir /cgroup; mount -t cgroup2 none /cgroup; cd /cgroup; mkdir some
             echo +hugetlb > cgroup.subtree_control; echo 20M > some/hugetlb.2MB.max
             echo 0 > some/cgroup.procs; hugectl --heap blocks medium 100",
            "hugectl --heap -q forks 2 0 print",
            "hugectl --heap -q forks 2 2 print",
            "grep HugePages_Free /proc/meminfo",
            "hugeadm --pool-pages-min 2MB:0 --pool-pages-max 2MB:0; hugectl --heap blocks medium 100",
        ],
    );
    assert!(answers[0].out.starts_with("5.10."), "{:?}", answers[0]);
    for (answer, least, most) in [(2, 80 << 10, 80 << 10), (3, 18 << 10, 20 << 10), (7, 0, 0)] {
        let ran = &answers[answer];
        let pages = HeapPages::find(&ran.out, "medium");
        assert!((least..=most).contains(&pages.hugetlb), "{ran:?}");
        let huge = pages.share(pages.hugetlb + pages.thp);
        assert!(huge >= 95, "{ran:?}");
    }
    for ran in &answers[4..6] {
        let before = HeapPages::find(&ran.out, "before");
        assert!(before.share(before.hugetlb) >= 60, "{ran:?}");
        assert!(ran.out.ends_with("right\n"), "{ran:?}");
    }
    let free = &answers[6].out;
    assert!(free.ends_with(" 40\n"), "{free}");
}

#[test]
fn memory_policies() {
    let Some(guest) = machine("an old kernel's policies", &[]) else {
        return;
    };
    type Case = (&'static str, fn(&Output<'_>));
    let cases: [Case; 2] = [
        ("hugectl --heap -q numa binds", binds),
        ("hugectl --heap -q numa fork-threads", forks),
    ];
    let mut commands = vec!["hugeadm --pool-pages-min 2MB@0-1:100"];
    commands.extend(cases.iter().map(|(command, _)| *command));
    let answers = run(&guest, &commands);
    for ((command, check), ran) in cases.iter().zip(&answers[1..]) {
        check(&Output {
            command,
            pools: Pools::Both,
            ran,
        });
    }
}

/// This kernel doesn't align mappings, and `MADV_HUGEPAGE` doesn't collapse.
#[test]
fn private_mappings() {
    let programs = [("anon", "/bin/anon"), ("anon_calls", "/bin/anon_calls")];
    let Some(guest) = machine("an old kernel's private mappings", &programs) else {
        return;
    };
    let answers = run(
        &guest,
        &[
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
            "hugectl --anon anon map populate protect fixed again",
            "hugectl --anon anon odd small",
            "anon_calls",
            "hugectl --anon anon_calls",
        ],
    );
    let shares = |ran: &Ran| -> Vec<u64> {
        let words = ran.out.split([' ', '\n']);
        let shares = words.filter_map(|word| word.strip_prefix("huge=")?.parse().ok());
        shares.collect()
    };
    let large = shares(&answers[1]);
    assert_eq!(large.len(), 5, "{:?}", answers[1]);
    assert!(large.iter().all(|huge| *huge >= 90), "{:?}", answers[1]);
    // One huge page of 3 MiB, and none of 1 MiB.
    assert_eq!(shares(&answers[2]), [66, 0], "{:?}", answers[2]);
    assert_eq!(answers[3], answers[4]);
}

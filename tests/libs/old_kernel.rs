//! Debian 11's kernel, in a virtual machine, where `HUGETOOLS_OLD_KERNEL` names it: it has no `MADV_POPULATE_WRITE`
//! (Linux 5.14), no `mremap` of pages of a pool (5.16), no write protection of
//! them by `userfaultfd` (5.19) and no `MADV_COLLAPSE` (6.1). All the same the
//! heap is on huge pages, nobody is killed, and no byte is lost.

use crate::libs::judge::Judged;
use crate::libs::numa::{Pools, Said, binds, equipped, forks, node};
use crate::support::guest::{Guest, old_guest};
use crate::support::program::{Libc, build};
use crate::support::tool::Ran;

/// Such a machine with programs that judge themselves.
fn machine(test: &str, programs: &[&str]) -> Option<Guest> {
    let mut guest = old_guest(test, &[node(800), node(800)])?;
    for name in programs {
        guest.install(&build(name, Libc::Glibc, &[])?, &format!("/bin/{name}"));
    }
    equipped(test, guest)
}

/// Runs commands, all of which must go well and say nothing of ours but what
/// the pool lacks.
fn run(guest: &Guest, commands: &[&str]) -> Vec<Ran> {
    let answers = guest.run(commands);
    for (command, ran) in commands.iter().zip(&answers) {
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
    }
    answers
}

fn pool(pages: u32) -> String {
    format!("hugeadm --pool-pages-min 2MB:{pages} --pool-pages-max 2MB:{pages}")
}

#[test]
fn the_heap_is_on_huge_pages_with_and_without_a_pool_and_within_a_limit() {
    let Some(guest) = machine("an old kernel's heap", &["blocks"]) else {
        return;
    };
    let answers = run(
        &guest,
        &[
            "uname -r",
            &pool(40),
            "hugectl --heap blocks medium 100",
            "hugeadm --pool-list | grep \\*",
            "mkdir /cgroup; mount -t cgroup2 none /cgroup; cd /cgroup; mkdir some
             echo +hugetlb > cgroup.subtree_control; echo 20M > some/hugetlb.2MB.max
             echo 0 > some/cgroup.procs; hugectl --heap blocks medium 100",
            &pool(0),
            "hugectl --heap blocks medium 100",
        ],
    );
    assert!(answers[0].out.starts_with("5.10."), "{:?}", answers[0]);
    for (answer, least, most) in [(2, 80 << 10, 80 << 10), (4, 18 << 10, 20 << 10), (6, 0, 0)] {
        let ran = &answers[answer];
        let judged = Judged::find(&ran.out, "medium");
        assert!((least..=most).contains(&judged.hugetlb), "{ran:?}");
        let huge = judged.share(judged.hugetlb + judged.thp);
        assert!(huge >= 95, "{ran:?}");
    }
}

#[test]
fn forks_with_a_used_up_pool_kill_nobody() {
    let Some(guest) = machine("an old kernel's forks", &["fork"]) else {
        return;
    };
    let modes = ["parent", "child"];
    let forks = modes.map(|mode| {
        let run = |threads| format!("hugectl --heap -q fork {mode} 60 1 {threads}");
        format!("{} && {}", run(0), run(2))
    });
    let mut commands = vec![pool(40)];
    commands.extend(forks);
    commands.push("grep -c . /proc/meminfo; grep HugePages_Free /proc/meminfo".to_owned());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let answers = run(&guest, &commands);
    for ran in &answers[1..=modes.len()] {
        let before = Judged::find(&ran.out, "before");
        assert!(before.share(before.hugetlb) >= 60, "{ran:?}");
        assert_eq!(ran.out.matches("after ").count(), 2, "{ran:?}");
    }
    let left = &answers[modes.len() + 1].out;
    assert!(left.ends_with("HugePages_Free:       40\n"), "{left}");
}

#[test]
fn memory_policies_hold() {
    let Some(guest) = machine("an old kernel's policies", &[]) else {
        return;
    };
    type Case = (&'static str, fn(&Said<'_>));
    let cases: [Case; 3] = [
        ("hugectl --heap -q numa binds", binds),
        ("hugectl --heap -q numa fork", forks),
        ("hugectl --heap -q numa fork-threads", forks),
    ];
    let mut commands = vec!["hugeadm --pool-pages-min 2MB@0-1:100"];
    commands.extend(cases.iter().map(|(command, _)| *command));
    let answers = run(&guest, &commands);
    for ((command, judge), ran) in cases.iter().zip(&answers[1..]) {
        judge(&Said {
            command,
            pools: Pools::Both,
            ran,
        });
    }
}

/// There the kernel aligns nothing by itself, and fills nothing by advice.
#[test]
fn private_mappings_are_aligned_and_huge() {
    let programs = ["anon", "anon_calls"];
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

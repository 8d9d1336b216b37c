//! Findings of `--explain`, on modified recorded machines.

mod boot;
mod no_proc;

use std::path::Path;

use serde_json::Value;

use crate::support::tool::hugeadm;
use crate::support::tree;

const NODES: &str = "x86_64-8node";
const ARM: &str = "aarch64-4k";
const SMALL: &str = "x86_64-no-1g";
const MTHP: &str = "x86_64-6.18-mthp";

const MEMINFO: &str = "proc/meminfo";
const SHM_GROUP: &str = "proc/sys/vm/hugetlb_shm_group";
const DEFAULT: &str = "proc/sys/vm/nr_hugepages";
const DEFAULT_FREE: &str = "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
const NODE: &str = "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages";

const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const DEFRAG: &str = "sys/kernel/mm/transparent_hugepage/defrag";
const THP_2MB: &str = "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled";

/// A pool that is not the default one: it has no files below `/proc/sys/vm`.
const POOL: &str = "sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages";
const FREE: &str = "sys/kernel/mm/hugepages/hugepages-64kB/free_hugepages";
const RESERVED: &str = "sys/kernel/mm/hugepages/hugepages-64kB/resv_hugepages";
const SURPLUS: &str = "sys/kernel/mm/hugepages/hugepages-64kB/surplus_hugepages";
const OVERCOMMIT: &str = "sys/kernel/mm/hugepages/hugepages-64kB/nr_overcommit_hugepages";

/// A file, a text in it (empty for the whole file), and its replacement.
type Change = (&'static str, &'static str, &'static str);

/// A finding: its subject, the beginning of the fact, and the command.
type Found = (&'static str, &'static str, &'static str);

fn change(dir: &Path, (file, from, to): &Change) {
    let path = dir.join(file);
    let text = tree::text(&path);
    assert!(text.contains(from), "{file} has no {from:?}");
    let text = match from.is_empty() {
        true => format!("{to}\n"),
        false => text.replacen(from, to, 1),
    };
    tree::write(&path, &text);
}

fn document(dir: &Path) -> Value {
    let ran = hugeadm(dir, &["--json", "--explain"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn findings(dir: &Path) -> Vec<Value> {
    document(dir)["findings"].as_array().unwrap().clone()
}

/// Checks that the changes cause the finding, and that its command works.
fn check_finding(machine: &str, changes: &[Change], (about, fact, command): Found) {
    let dir = tree::machine(machine);
    let it = |finding: &Value| {
        let begins = finding["fact"].as_str().unwrap().starts_with(fact);
        begins && finding["about"] == about && finding["command"] == command
    };
    assert!(!findings(dir.path()).iter().any(it), "{fact}: before");
    for step in changes {
        change(dir.path(), step);
    }
    let found = findings(dir.path());
    assert!(found.iter().any(it), "{fact}: {found:#?}");
    if let Some(words) = command.strip_prefix("hugeadm ") {
        let words: Vec<&str> = words.split(' ').collect();
        let ran = hugeadm(dir.path(), &words);
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
        // Other findings may stay: a write to a pool of a tree changes no other counter.
        let settings = ["thp", "shared_memory"].contains(&about);
        assert!(!settings || !findings(dir.path()).iter().any(it), "{fact}");
    }
}

fn check_findings(cases: &[Case]) {
    for (machine, changes, found) in cases {
        check_finding(machine, changes, *found);
    }
}

type Case = (&'static str, &'static [Change], Found);

const POOLS: &[Case] = &[
    (
        SMALL,
        &[(DEFAULT, "", "400"), (DEFAULT_FREE, "", "400")],
        (
            "memory",
            "the pools hold 800 of 973 MB of memory",
            "hugeadm --pool-pages-min 2MB:-11",
        ),
    ),
    // The advice concerns the 64 kB pool, not the default one.
    (
        ARM,
        &[(POOL, "", "31000"), (FREE, "", "31000")],
        (
            "memory",
            "the pools hold 1969 of 1981 MB of memory",
            "hugeadm --pool-pages-min 64KB:-6144",
        ),
    ),
    (
        MTHP,
        &[(DEFAULT, "", "4096")],
        (
            "memory",
            "the kernel uses 112 MB for descriptors",
            "hugeadm --hvo on",
        ),
    ),
    (
        ARM,
        &[(DEFAULT, "", "0")],
        (
            "pool",
            "no pool has pages or may allocate any",
            "hugeadm --pool-pages-max DEFAULT:10%",
        ),
    ),
    (
        NODES,
        &[(NODE, "", "70")],
        (
            "node",
            "the pages of 2MB are unevenly distributed: 64 on node 0, 70 on node 1, 0 on node 2",
            "hugeadm --pool-spread 2MB:144",
        ),
    ),
];

#[test]
fn pools() {
    check_findings(POOLS);
}

/// Facts without a command.
const FACTS: &[(&str, &[Change], (&str, &str))] = &[
    (
        ARM,
        &[(POOL, "", "8"), (FREE, "", "8")],
        ("pool", "8 pages of 64KB (512KB) of the pool are unused"),
    ),
    (
        ARM,
        &[(POOL, "", "8"), (FREE, "", "3"), (RESERVED, "", "3")],
        (
            "pool",
            "the pool has no free page left: 8 pages of 64KB used or reserved",
        ),
    ),
    (
        ARM,
        &[(POOL, "", "8"), (FREE, "", "5"), (RESERVED, "", "3")],
        (
            "pool",
            "programs have reserved 3 of the 5 pages of 64KB that are free",
        ),
    ),
    (
        ARM,
        &[(POOL, "", "8"), (SURPLUS, "", "2"), (OVERCOMMIT, "", "4")],
        (
            "pool",
            "the kernel allocated 2 pages of 64KB above the minimum on demand",
        ),
    ),
    (
        ARM,
        &[(
            MEMINFO,
            "Hugepagesize:       2048",
            "Hugepagesize:    1048576",
        )],
        ("pool", "the default huge page size is 1GB"),
    ),
    (
        ARM,
        &[(DEFAULT, "", "0"), (POOL, "", "8")],
        (
            "pool",
            "the pool of 64KB can have pages, but the pool of the default size 2MB can't",
        ),
    ),
];

#[test]
fn facts_without_commands() {
    for (machine, changes, (about, fact)) in FACTS {
        let dir = tree::machine(machine);
        let is_known = || {
            let known = document(dir.path())["facts"].clone();
            known.as_array().unwrap().iter().any(|known| {
                known["about"] == *about && known["fact"].as_str().unwrap().starts_with(fact)
            })
        };
        assert!(!is_known(), "{fact}: before");
        for step in *changes {
            change(dir.path(), step);
        }
        assert!(is_known(), "{fact}");
    }
}

/// Carries out advice until none is left, at most eight rounds: commands must not undo each other.
/// Mounts cannot be made on a tree.
fn follow_advice(dir: &Path) {
    for _ in 0..8 {
        let found = findings(dir);
        let words = |finding: &Value| finding["command"].as_str().unwrap().to_owned();
        let is_possible = |finding: &&Value| finding["about"] != "mount";
        let commands: Vec<String> = found.iter().filter(is_possible).map(words).collect();
        if commands.is_empty() {
            return;
        }
        for command in commands {
            let words = command.strip_prefix("hugeadm ");
            let words: Vec<&str> = words
                .unwrap_or_else(|| panic!("{command}"))
                .split(' ')
                .collect();
            let ran = hugeadm(dir, &words);
            assert_eq!(ran.status, 0, "{command}: {ran:?}");
        }
    }
    panic!("advice without an end: {:#?}", findings(dir));
}

#[test]
fn advice_terminates() {
    for machine in tree::machines() {
        follow_advice(tree::machine(&machine).path());
    }
}

const MOUNTED: &[Case] = &[(
    ARM,
    &[(POOL, "", "8")],
    (
        "mount",
        "no hugetlbfs with pages of 64KB is mounted",
        "hugeadm --create-global-mounts",
    ),
)];

#[test]
fn mounts() {
    check_findings(MOUNTED);
}

const LIMITS: &[Case] = &[
    (
        NODES,
        &[("proc/sys/kernel/shmmax", "", "33554432")],
        (
            "shared_memory",
            "kernel.shmmax is 33554432 bytes, but the pools may grow to 169869312 bytes",
            "hugeadm --set-recommended-shmmax",
        ),
    ),
    (
        SMALL,
        &[("proc/sys/vm/min_free_kbytes", "", "1000")],
        (
            "memory",
            "vm.min_free_kbytes is 1000 kB; the kernel sets ",
            "hugeadm --set-recommended-min_free_kbytes",
        ),
    ),
];

#[test]
fn shared_memory_and_limits() {
    check_findings(LIMITS);
}

const TRANSPARENT: &[Case] = &[
    // The mode of the page size overrides `enabled`.
    (
        MTHP,
        &[(THP_2MB, "", "[always] inherit madvise never")],
        (
            "thp",
            "THP is set to always, and khugepaged collapses",
            "hugeadm --thp-max-ptes-none 64",
        ),
    ),
    (
        MTHP,
        &[(THP, "", "[always] madvise never")],
        (
            "thp",
            "THP is set to always, and khugepaged collapses",
            "hugeadm --thp-max-ptes-none 64",
        ),
    ),
    (
        MTHP,
        &[
            (THP, "", "[always] madvise never"),
            (DEFRAG, "", "[always] defer defer+madvise madvise never"),
        ],
        (
            "thp",
            "every page fault that finds no huge page reclaims and compacts memory first",
            "hugeadm --thp-defrag defer+madvise",
        ),
    ),
    (
        MTHP,
        &[(THP, "", "always madvise [never]")],
        (
            "thp",
            "transparent huge pages are set to never",
            "hugeadm --thp-madvise",
        ),
    ),
    (
        MTHP,
        &[(THP_2MB, "", "always inherit madvise [never]")],
        (
            "thp",
            "transparent huge pages are set to madvise, but each of their sizes to never",
            "hugeadm --thp-size 2MB:inherit",
        ),
    ),
];

#[test]
fn transparent_huge_pages() {
    check_findings(TRANSPARENT);
}

#[test]
fn a_kernel_without_huge_pages() {
    let dir = tree::machine("s390x");
    let facts = || document(dir.path())["facts"].clone();
    let offered = facts()[0].clone();
    let host = offered["consequence"].as_str().unwrap();
    assert!(host.contains("kvm.hpage=1"), "{offered}");
    std::fs::remove_file(dir.path().join(SHM_GROUP)).unwrap();
    assert_eq!(findings(dir.path()), Vec::<Value>::new());
    assert_eq!(facts()[0]["about"], "kernel");
    assert!(
        facts()[0]["fact"]
            .as_str()
            .unwrap()
            .contains("CONFIG_HUGETLBFS")
    );
}

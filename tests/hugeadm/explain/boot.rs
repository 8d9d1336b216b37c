//! `--explain` about the kernel command line and about pools of one page.

use std::fs::OpenOptions;
use std::io::Write;

use super::{ARM, Change, NODES, SMALL, change, document};
use crate::support::tree;

const PAGES: &str = "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";
const FREE: &str = "sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages";
const RESERVED: &str = "sys/kernel/mm/hugepages/hugepages-1048576kB/resv_hugepages";
const SURPLUS: &str = "sys/kernel/mm/hugepages/hugepages-1048576kB/surplus_hugepages";

/// Returns facts and consequences on a modified machine with this command line.
fn told(machine: &str, line: &str, changes: &[Change]) -> String {
    let dir = tree::machine(machine);
    changes.iter().for_each(|step| change(dir.path(), step));
    let path = dir.path().join("proc/cmdline");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path);
    file.unwrap().write_all(line.as_bytes()).unwrap();
    let facts = document(dir.path())["facts"].clone();
    let facts = facts.as_array().unwrap().iter();
    let text = |fact: &serde_json::Value| format!("{} {}\n", fact["fact"], fact["consequence"]);
    facts.map(text).collect()
}

#[test]
fn the_command_line_of_the_kernel_is_compared() {
    for (machine, line, fact) in [
        (
            NODES,
            "ro hugepages=4 hugepagesz=1G\n",
            "has hugepages=4 before hugepagesz=1G",
        ),
        (
            NODES,
            "hugepages=4 hugepagesz=1G hugepages=8 hugepagesz=2M",
            "hugepages=4 before hugepagesz=2M",
        ),
        (
            SMALL,
            "hugepagesz=1G hugepages=4",
            "has hugepagesz=1G, but this machine lacks that size",
        ),
        (
            ARM,
            "hugepagesz=16M hugepages=4",
            "choose one of 64KB, 2MB, 32MB, 1GB",
        ),
        (
            NODES,
            "hugepagesz=1G hugepages=4",
            "asks for 4 pages of 1GB, but the pool's minimum is 0",
        ),
        (
            NODES,
            "hugepagesz=2M hugepages=0:70,3:10",
            "asks for 80 pages of 2MB, but the pool's minimum is 74",
        ),
    ] {
        let told = told(machine, line, &[]);
        assert!(told.contains(fact), "{line}: {told}");
    }
    for line in [
        "ro quiet",
        "hugepages=74",
        "hugepagesz=2M hugepages=0:64,3:10 hugepagesz=1G",
    ] {
        let told = told(NODES, line, &[]);
        assert!(!told.contains("command line"), "{line}: {told}");
    }
}

#[test]
fn one_page_is_singular() {
    let pools: [&[Change]; 4] = [
        &[(PAGES, "", "1"), (FREE, "", "1")],
        &[(PAGES, "", "1"), (FREE, "", "1"), (RESERVED, "", "1")],
        &[(PAGES, "", "1"), (FREE, "", "0")],
        &[(PAGES, "", "2"), (FREE, "", "1"), (SURPLUS, "", "1")],
    ];
    for changes in pools {
        let told = told(NODES, "", changes);
        assert!(told.contains("1 page of 1GB"), "{told}");
        let is_plural = |words: &str| {
            ["are", "were", "have"]
                .iter()
                .any(|verb| words.starts_with(verb))
        };
        for (at, page) in told.match_indices("1 page of 1GB") {
            let after = told[at + page.len()..]
                .trim_start_matches(" (1GB)")
                .trim_start();
            assert!(!is_plural(after), "{told}");
        }
        assert!(!told.contains(" 1 pages"), "{told}");
    }
}

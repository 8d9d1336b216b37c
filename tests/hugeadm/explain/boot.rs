//! `--explain` about the kernel command line.

use std::fs::OpenOptions;
use std::io::Write;

use super::{ARM, NODES, SMALL, document};
use crate::support::tree;

/// Returns facts and consequences on a machine with this command line.
fn findings(machine: &str, line: &str) -> String {
    let dir = tree::machine(machine);
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
        let findings = findings(machine, line);
        assert!(findings.contains(fact), "{line}: {findings}");
    }
    for line in [
        "ro quiet",
        "hugepages=74",
        "hugepagesz=2M hugepages=0:64,3:10 hugepagesz=1G",
    ] {
        let findings = findings(NODES, line);
        assert!(!findings.contains("command line"), "{line}: {findings}");
    }
}

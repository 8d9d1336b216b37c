//! pagesize on recorded machines (transcripts) and on this machine.

use std::path::Path;

use crate::support::{session, tool, tree};

#[test]
fn transcripts() {
    session::run_all("pagesize");
}

/// Returns the output lines on this machine.
fn here(args: &[&str]) -> Vec<u64> {
    let ran: tool::Ran = tool::tool("pagesize").args(args).output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.out.lines().map(|line| line.parse().unwrap()).collect()
}

/// Returns this machine's page sizes from the kernel's directory names.
fn offered() -> Vec<u64> {
    let entries = Path::new("/sys/kernel/mm/hugepages").read_dir();
    let names = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name());
    let size = |name: String| {
        name.strip_prefix("hugepages-")?
            .strip_suffix("kB")?
            .parse()
            .ok()
    };
    let mut sizes: Vec<u64> = names
        .filter_map(|name| size(name.into_string().unwrap()))
        .map(|kb: u64| kb << 10)
        .collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn this_machine() {
    let base: u64 = tool::sh("getconf PAGESIZE").out.trim().parse().unwrap();
    assert_eq!(here(&[]), [base]);
    let huge = offered();
    assert_eq!(here(&["-H"]), huge);
    let all: Vec<u64> = std::iter::once(base).chain(huge.clone()).collect();
    assert_eq!(here(&["-a"]), all);
    assert_eq!(here(&["-aH"]), huge);
}

#[test]
fn every_recorded_machine_has_its_sizes() {
    for machine in tree::machines() {
        let dir = tree::machine(&machine);
        let mut command = tool::tool("pagesize");
        let ran: tool::Ran = command
            .arg("--all")
            .arg("--sysroot")
            .arg(dir.path())
            .output()
            .unwrap()
            .into();
        let sizes: Vec<u64> = ran.out.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{machine}");
        assert!(
            sizes.is_sorted() && !sizes.is_empty(),
            "{machine}: {sizes:?}"
        );
        assert!(
            sizes.iter().all(|size| size.is_power_of_two()),
            "{machine}: {sizes:?}"
        );
    }
}

//! pagesize on recorded machines (transcripts) and on this machine.

use crate::support::{session, tool, tree};

#[test]
fn transcripts() {
    session::run_all("pagesize");
}

#[test]
fn this_machine() {
    let base = tool::sh("getconf PAGESIZE").out;
    let ran: tool::Ran = tool::tool("pagesize").output().unwrap().into();
    assert_eq!((ran.status, ran.out), (0, base));
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

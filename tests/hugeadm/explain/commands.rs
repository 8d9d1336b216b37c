//! Commands that `--explain` suggests, and a machine that gets none.

use serde_json::Value;

use super::{LIMITS, MOUNTED, NODES, POOLS, SHM_GROUP, TRANSPARENT, change, document, findings};
use crate::support::tool::{hugeadm, sh};
use crate::support::tree;

/// A shell can run each command without edits: no placeholder is left.
#[test]
fn commands_can_be_pasted() {
    let all = [POOLS, LIMITS, TRANSPARENT, MOUNTED].concat();
    let made = all.iter().map(|(machine, changes, _)| (*machine, *changes));
    let names = tree::machines();
    let plain = names.iter().map(|name| (name.as_str(), &[][..]));
    for (machine, changes) in made.chain(plain) {
        let dir = tree::machine(machine);
        changes.iter().for_each(|step| change(dir.path(), step));
        for finding in findings(dir.path()) {
            let command = finding["command"].as_str().unwrap();
            let parsed = sh(&format!("set -n; {command}"));
            assert_eq!((parsed.status, parsed.err.as_str()), (0, ""), "{command}");
            let is_placeholder = |word: &str| {
                let capitals = word.bytes().all(|byte| byte.is_ascii_uppercase());
                word.len() > 2 && capitals && word != "DEFAULT"
            };
            let mut words = command.split(|c: char| !c.is_ascii_alphanumeric());
            assert!(!words.any(is_placeholder), "{command}");
        }
    }
    // Neither do the other messages have placeholders.
    let dir = tree::machine(NODES);
    let ran = hugeadm(dir.path(), &["--explain"]);
    for name in [" GROUP", " USER", ":SIZE", " AMOUNT"] {
        assert!(!ran.out.contains(name), "{}", ran.out);
    }
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

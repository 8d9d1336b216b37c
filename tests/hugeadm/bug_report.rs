//! A bug report contains enough to work on and nothing private.

use std::os::unix::ffi::OsStrExt;

use hugetools_model::fixture;
use nix::sys::utsname::uname;
use nix::unistd::{User, getuid};

use crate::support::tool::{Run, hugeadm, tool};
use crate::support::tree::{machine, machines};

fn report(options: &[&str]) -> String {
    let ran = tool("hugeadm").args(options).ran();
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

#[test]
fn an_unpacked_report_gives_the_same_output_as_the_machine() {
    for name in machines() {
        let original = machine(&name);
        let recorded = hugeadm(original.path(), &["--bug-report"]);
        assert_eq!((recorded.status, recorded.err.as_str()), (0, ""), "{name}");
        let unpacked = tempfile::tempdir().unwrap();
        fixture::unpack(&recorded.out, unpacked.path()).unwrap();
        // A report renames mount points; the JSON output has none.
        let output = |dir| {
            let show = ["--json", "--explain", "--stats", "--pool-list-nodes"];
            let ran = hugeadm(dir, &show);
            assert_eq!(ran.status, 0, "{name}: {ran:?}");
            ran.out
        };
        assert_eq!(output(unpacked.path()), output(original.path()), "{name}");
    }
}

#[test]
fn the_report_names_neither_host_nor_home() {
    let report = report(&["--bug-report"]);
    fixture::parse(&report).unwrap();
    assert!(report.starts_with("# hugetools "), "{report}");
    for file in ["meminfo", "vmstat", "zoneinfo", "sys/kernel/osrelease"] {
        assert!(report.contains(&format!("\n/proc/{file} ")), "{file}");
    }
    let names = uname().unwrap();
    let user = User::from_uid(getuid()).unwrap();
    let home = user.as_ref().map(|user| user.dir.as_os_str().as_bytes());
    let host = names.nodename().as_bytes();
    for private in [host, home.unwrap_or_default(), b"/home/", b"UUID="] {
        let private = String::from_utf8_lossy(private);
        let is_word = private.len() > 3;
        assert!(!is_word || !report.contains(&*private), "{private}");
    }
}

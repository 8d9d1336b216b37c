//! Calls on memory by a library that was opened with `RTLD_DEEPBIND`.

use std::process::Command;

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// The loader binds such a library to libc before it looks at ours.
#[test]
fn a_library_opened_with_deepbind_changes_memory_of_ours_as_plain() {
    let Some(live) = machine("memory calls by a library opened with RTLD_DEEPBIND") else {
        return;
    };
    let library = build(
        "deepbind_memory",
        Libc::Glibc,
        &["-shared", "-fPIC", "-DPLUGIN"],
    );
    let program = build("deepbind_memory", Libc::Glibc, &[]);
    let (Some(library), Some(program)) = (library, program) else {
        return;
    };
    live.set_pool(60);
    let mut command = Command::new(&program);
    let plain: Ran = command.arg(&library).output().unwrap().into();
    assert_eq!(plain.status, 0, "{plain:?}");
    for options in [
        &["--shm"][..],
        &["--heap"],
        &["--anon"],
        &["--heap", "--shm", "--anon"],
    ] {
        let mut command = tool("hugectl");
        command.args(options).arg(&program).arg(&library);
        let ran: Ran = command.output().unwrap().into();
        let what = format!("{options:?}: {ran:?}");
        assert_eq!((ran.status, &ran.out), (0, &plain.out), "{what}");
        let huge = ran
            .err
            .lines()
            .find_map(|line| line.strip_prefix("huge_kb="));
        let huge: u64 = huge.expect(&what).parse().unwrap();
        if options.contains(&"--anon") && live.thp_serves() {
            assert!(huge >= 60 << 10, "{what}");
        }
    }
}

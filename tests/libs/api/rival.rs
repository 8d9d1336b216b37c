//! A libhugetlbfs of another name for the loader, besides ours.

use crate::support::live::machine;
use crate::support::program::{Libc, build_as};
use crate::support::tool::{Ran, tool};

#[test]
fn another_library_of_this_kind_keeps_still() {
    let Some(live) = machine("another library of this kind") else {
        return;
    };
    live.set_pool(20);
    let flags = [
        "-DRIVAL",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libhugetlbfs.so.7",
    ];
    let Some(rival) = build_as("libhugetlbfs.so.7", "rival", Libc::Glibc, &flags) else {
        return;
    };
    let place = rival.parent().unwrap().display().to_string();
    let path = format!("-Wl,-rpath,{place}");
    let flags = ["-Wl,--no-as-needed", rival.to_str().unwrap(), &path];
    let program = build_as("rival", "rival", Libc::Glibc, &flags).unwrap();
    for options in [
        &["--shm"][..],
        &["--heap", "--shm"],
        &["--data", "--bss"],
        &["--heap", "--bss"],
    ] {
        for start in [&[][..], &["sh", "-c", "\"$0\" \"$@\""]] {
            let mut command = tool("hugectl");
            command.args(options).args(start).arg(&program);
            let ran: Ran = command.output().unwrap().into();
            assert_eq!(
                (ran.status, ran.out.as_str()),
                (0, "ok\n"),
                "{options:?}: {ran:?}"
            );
        }
    }
}

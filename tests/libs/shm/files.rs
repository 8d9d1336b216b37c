//! Files in memory that a program maps as shared memory: those of `memfd_create(2)`, and
//! of any tmpfs.

use std::process::Command;

use super::huge_kb;
use crate::support::live::machine;
use crate::support::needs::mounts;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, hugectl, tool};

const MIB: &str = "8";

#[test]
fn files_of_memfd_create_are_on_transparent_pages_where_the_kernel_serves_them() {
    let Some(live) = machine("shared memory of memfd_create") else {
        return;
    };
    live.set_pool(0);
    for (word, kb, said) in [
        ("advise", 8 << 10, ""),
        ("never", 0, "shared memory in a file: 8 MiB on base pages: "),
    ] {
        if !live.set_shmem_enabled(word) {
            return;
        }
        for libc in Libc::ALL {
            let Some(program) = build("shm_file", libc, &[]) else {
                return;
            };
            let mut command = tool("hugectl");
            command.arg("--shm=thp").arg(program).args(["memfd", MIB]);
            let ran: Ran = command.output().unwrap().into();
            assert_eq!(ran.status, 0, "{libc:?} {word}: {ran:?}");
            assert!(ran.out.ends_with("ok\n"), "{libc:?} {word}: {ran:?}");
            assert_eq!(huge_kb(&ran), kb, "{libc:?} {word}: {ran:?}");
            assert!(ran.err.contains(said), "{libc:?} {word}: {ran:?}");
            // Without it nothing is advised.
            let ran: Ran = Command::new(command.get_args().nth(1).unwrap())
                .args(["memfd", MIB])
                .output()
                .unwrap()
                .into();
            assert_eq!((ran.status, huge_kb(&ran)), (0, 0), "{ran:?}");
        }
    }
}

#[test]
fn files_of_a_tmpfs_are_on_them_where_it_is_mounted_so() {
    let Some(live) = machine("shared memory of a tmpfs") else {
        return;
    };
    if !mounts("shared memory of a tmpfs") {
        return;
    }
    live.set_pool(0);
    live.set_shmem_enabled("advise");
    let Some(program) = build("shm_file", Libc::Glibc, &[]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for (options, kb, said) in [
        ("huge=advise", 8 << 10, ""),
        (
            "huge=never",
            0,
            "8 MiB on base pages: its tmpfs is mounted without huge=advise",
        ),
        ("size=1g", 0, "mount -o remount,huge=advise /dev/shm"),
    ] {
        let script = format!(
            "mount -t tmpfs -o {options} x {dir} && exec {hugectl} --shm {program} {dir}/file {MIB}",
            dir = dir.path().display(),
            hugectl = hugectl().display(),
            program = program.display(),
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, 0, "{options}: {ran:?}");
        assert_eq!(huge_kb(&ran), kb, "{options}: {ran:?}");
        assert!(ran.err.contains(said), "{options}: {ran:?}");
    }
}

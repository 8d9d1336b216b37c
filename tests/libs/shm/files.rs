//! Shared mappings of files in memory: `memfd_create(2)` and tmpfs.

use std::process::Command;

use super::huge_kb;
use crate::support::live::{machine, skip_aloud};
use crate::support::needs::mounts;
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, hugectl, tool};

const MIB: &str = "8";

#[test]
fn memfd_create_gets_transparent_pages() {
    let Some(live) = machine("shared memory of memfd_create") else {
        return;
    };
    live.set_pool(0);
    for (word, kb) in [("advise", 8 << 10), ("never", 0)] {
        if !live.set_shmem_enabled(word) {
            return skip_aloud("this kernel has no shmem_enabled");
        }
        for libc in Libc::ALL {
            let Some(program) = build("shm_file", libc, &[]) else {
                return;
            };
            let mut command = tool("hugectl");
            command.arg("--shm=thp").arg(program).args(["memfd", MIB]);
            let ran = command.ran();
            assert_eq!(ran.status, 0, "{libc:?} {word}: {ran:?}");
            assert!(ran.out.ends_with("ok\n"), "{libc:?} {word}: {ran:?}");
            assert_eq!(huge_kb(&ran), kb, "{libc:?} {word}: {ran:?}");
            assert_eq!(ran.err.is_empty(), kb > 0, "{libc:?} {word}: {ran:?}");
        }
    }
}

#[test]
fn a_tmpfs_with_huge_advise_gets_transparent_pages() {
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
    for (options, kb, message) in [
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
        let ran = command.ran();
        assert_eq!(ran.status, 0, "{options}: {ran:?}");
        assert_eq!(huge_kb(&ran), kb, "{options}: {ran:?}");
        assert!(ran.err.contains(message), "{options}: {ran:?}");
    }
}

//! Programs that were linked long ago with libhugetlbfs' own linker scripts: their segments
//! are marked and begin at multiples of 16 MB, and `p_align` is that of a base page.
#![expect(clippy::disallowed_methods, reason = "marks a program")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

const LINK: &str = "-Wl,-z,max-page-size=0x1000,-z,norelro,-z,noseparate-code,\
                    -Ttext-segment=0x1000000,--section-start=.init_array=0x3000000";

/// Marks all segments of a 64-bit little-endian program.
fn mark(program: &Path, marked: &Path) {
    let mut bytes = fs::read(program).unwrap();
    let number = |bytes: &[u8], at: usize, len: usize| {
        let digits = bytes[at..at + len].iter().rev();
        digits.fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (headers, count) = (number(&bytes, 32, 8), number(&bytes, 56, 2));
    for at in (0..count).map(|index| headers + index * 56) {
        if number(&bytes, at, 4) == 1 {
            bytes[at + 6] |= 0x10;
        }
    }
    fs::write(marked, bytes).unwrap();
    fs::set_permissions(marked, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn of_a_marked_segment_the_address_counts() {
    let Some(live) = machine("segments marked by an old linker script") else {
        return;
    };
    let flags = ["-no-pie", "-fno-pie", LINK];
    let Some(program) = build("old_marked", Libc::Glibc, &flags) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let marked = dir.path().join("marked");
    mark(&program, &marked);
    live.set_pool(4);
    let plain: Ran = Command::new(&marked).output().unwrap().into();
    assert_eq!(
        plain.out, "data b\ndata_kb=0 bss_kb=0 text_kb=0\n",
        "{plain:?}"
    );
    let huge = "data b\ndata_kb=2048 bss_kb=2048 text_kb=2048\n";
    let mut command = Command::new(&marked);
    command.env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"));
    let ran: Ran = command.output().unwrap().into();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (huge, ""), "{ran:?}");
    let ran: Ran = tool("hugectl")
        .args(["--shm"])
        .arg(&marked)
        .output()
        .unwrap()
        .into();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (huge, ""), "{ran:?}");
}

//! ld.hugetlbfs for other architectures: huge pages have the target's size.

use super::ld::{MODES, PRINTED, PROGRAM, check, link};
use super::place::Place;
use crate::support::live::skip;
use crate::support::needs;

const MIB: u64 = 1 << 20;

/// Prefix of the compiler, emulator, linker, and huge page size.
const TARGETS: [(&str, &str, &str, u64); 3] = [
    ("aarch64-linux-gnu", "qemu-aarch64", "bfd", 2 * MIB),
    ("aarch64-linux-gnu", "qemu-aarch64", "lld", 2 * MIB),
    ("s390x-linux-gnu", "qemu-s390x", "bfd", MIB),
];

#[test]
fn programs_for_other_architectures() {
    let test = "programs_for_other_architectures";
    for (triplet, emulator, linker, size) in TARGETS {
        let place = Place::new();
        if place.shell(&format!("{triplet}-gcc --version")).status != 0 {
            let _ = skip::<()>(test, &format!("no {triplet}-gcc"));
            continue;
        }
        if linker == "lld" && !needs::linker(test, linker) {
            continue;
        }
        place.file("program.c", PROGRAM);
        place.file("library.c", "int library(void) { return 1; }");
        place.ok(&format!(
            "{triplet}-gcc -shared -fPIC -Wl,-soname,libhugetlbfs.so.0 library.c -o libhugetlbfs.so \
             && ln -s libhugetlbfs.so libhugetlbfs.so.0"
        ));
        for kind in ["-fPIE -pie", "-static"] {
            for mode in [MODES[0], MODES[2]] {
                let what = format!("{triplet} {linker} {kind} {}", mode.0);
                let compiler = format!("{triplet}-gcc -L. -fuse-ld={linker} {kind}");
                link(&place, &compiler, mode.0);
                check(&place, size, mode, &what);
                if needs::programs(test, &[emulator]) {
                    let line =
                        format!("{emulator} -L /usr/{triplet} -E LD_LIBRARY_PATH=. ./program");
                    assert_eq!(place.ok(&line), PRINTED, "{what}");
                }
            }
        }
    }
}

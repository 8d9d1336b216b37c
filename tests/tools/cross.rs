//! ld.hugetlbfs for other machines: sizes are those of the target.

use super::ld::{MODES, PRINTED, PROGRAM, check, link};
use super::place::Place;
use crate::support::live::skip;
use crate::support::needs;

const MIB: u64 = 1 << 20;

/// A machine with a cross compiler and a C library.
struct Hosted {
    /// The prefix of its tools.
    triplet: &'static str,
    /// The suffix of its emulator.
    emulator: &'static str,
    linkers: &'static [&'static str],
    size: u64,
    /// Whether a missing compiler is reported as a skip.
    is_asked_for: bool,
}

/// LLVM 14's lld doesn't support s390x and parts of riscv64's C library; gold doesn't
/// support riscv64.
const HOSTED: [Hosted; 4] = [
    Hosted {
        triplet: "aarch64-linux-gnu",
        emulator: "qemu-aarch64",
        linkers: &["bfd", "gold", "lld"],
        size: 2 * MIB,
        is_asked_for: true,
    },
    Hosted {
        triplet: "s390x-linux-gnu",
        emulator: "qemu-s390x",
        linkers: &["bfd", "gold"],
        size: MIB,
        is_asked_for: true,
    },
    Hosted {
        triplet: "powerpc64le-linux-gnu",
        emulator: "qemu-ppc64le",
        linkers: &["bfd", "lld"],
        size: 256 * MIB,
        is_asked_for: false,
    },
    Hosted {
        triplet: "riscv64-linux-gnu",
        emulator: "qemu-riscv64",
        linkers: &["bfd"],
        size: 2 * MIB,
        is_asked_for: false,
    },
];

impl Hosted {
    /// Returns a directory with a program and a library for this machine.
    fn place(&self) -> Option<Place> {
        let place = Place::new();
        let compiler = format!("{}-gcc --version", self.triplet);
        if place.shell(&compiler).status != 0 {
            return match self.is_asked_for {
                true => skip(
                    "programs_of_other_machines",
                    &format!("no {}-gcc", self.triplet),
                ),
                false => None,
            };
        }
        place.file("program.c", PROGRAM);
        place.file("library.c", "int library(void) { return 1; }");
        place.ok(&format!(
            "{}-gcc -shared -fPIC -Wl,-soname,libhugetlbfs.so.0 library.c -o libhugetlbfs.so && \
             ln -s libhugetlbfs.so libhugetlbfs.so.0",
            self.triplet
        ));
        Some(place)
    }

    /// Runs the program if the emulator is installed.
    fn run(&self, place: &Place, what: &str) {
        let emulator = self.emulator;
        if place.shell(&format!("{emulator} --version")).status == 0 {
            let line = format!(
                "{emulator} -L /usr/{} -E LD_LIBRARY_PATH=. ./program",
                self.triplet
            );
            assert_eq!(place.ok(&line), PRINTED, "{what}");
        }
    }
}

#[test]
fn programs_of_other_machines() {
    for machine in &HOSTED {
        let Some(place) = machine.place() else {
            continue;
        };
        for linker in machine.linkers {
            if *linker == "lld" && !needs::linker("programs_of_other_machines", linker) {
                continue;
            }
            for kind in ["-fPIE -pie", "-no-pie", "-static"] {
                for mode in MODES {
                    let triplet = machine.triplet;
                    let what = format!("{triplet} {linker} {kind} {}", mode.0);
                    let compiler = format!("{triplet}-gcc -L. -fuse-ld={linker} {kind}");
                    link(&place, &compiler, mode.0);
                    check(&place, machine.size, mode, &what);
                    machine.run(&place, &what);
                }
            }
        }
    }
}

const FREESTANDING: &str = r#"
static char bss[4000000];
static char data[4000000] = "data";
char *volatile both[] = {bss, data};
void _start(void) { for (;;) both[0][0] = both[1][0]; }
"#;

/// Without a C library: clang compiles for every machine, and lld links.
#[test]
fn machines_without_a_c_library() {
    let place = Place::new();
    if place.shell("clang --version && ld.lld --version").status != 0 {
        return skip("machines_without_a_c_library", "no clang, or no lld").unwrap_or(());
    }
    place.file("program.c", FREESTANDING);
    for (target, size) in [
        ("x86_64-linux-gnu", 2 * MIB),
        ("aarch64-linux-gnu", 2 * MIB),
        ("aarch64_be-linux-gnu", 2 * MIB),
        ("powerpc64le-linux-gnu", 256 * MIB),
        ("powerpc64-linux-gnu", 256 * MIB),
        ("riscv64-linux-gnu -mno-relax", 2 * MIB),
    ] {
        for kind in ["-static", "-static -fPIE -Wl,-pie"] {
            for mode in MODES {
                let what = format!("{target} {kind} {}", mode.0);
                let compiler = format!("clang --target={target} -nostdlib -fuse-ld=lld {kind}");
                link(&place, &compiler, mode.0);
                check(&place, size, mode, &what);
            }
        }
    }
}

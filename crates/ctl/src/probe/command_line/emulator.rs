//! Emulators that run a program of another machine (`qemu-aarch64`, `qemu-aarch64-static`):
//! that program's loader takes no library of ours, and says so.

use std::ffi::OsStr;
use std::path::Path;

use super::wrapped::base;

/// The variable by which such an emulator keeps variables from the program.
pub(crate) const UNSET: &str = "QEMU_UNSET_ENV";

/// The machines whose programs it runs, as QEMU calls them; those with more letters
/// behind, as `mips64el`, too.
const MACHINES: &[&str] = &[
    "aarch64",
    "alpha",
    "arm",
    "cris",
    "hexagon",
    "hppa",
    "i386",
    "loongarch",
    "m68k",
    "microblaze",
    "mips",
    "nios2",
    "or1k",
    "ppc",
    "riscv",
    "s390x",
    "sh4",
    "sparc",
    "x86_64",
    "xtensa",
];

/// Whether a program is one, for another machine than this.
pub(crate) fn is_emulator(program: &Path) -> bool {
    let machine = |name: &[u8]| -> Option<String> {
        let name = std::str::from_utf8(name).ok()?.strip_prefix("qemu-")?;
        Some(name.strip_suffix("-static").unwrap_or(name).to_owned())
    };
    let machine = machine(base(program.as_os_str()));
    machine.is_some_and(|machine| {
        let is_name = |known: &&str| machine.starts_with(*known) && !machine.contains('-');
        machine != std::env::consts::ARCH && MACHINES.iter().any(is_name)
    })
}

/// What the variable is to say, so that the program does not get `LD_PRELOAD`.
pub(crate) fn unset(before: Option<&OsStr>) -> String {
    const NAME: &str = "LD_PRELOAD";
    let before = before.map(|list| list.to_string_lossy().into_owned());
    match before.filter(|list| !list.is_empty()) {
        Some(list) if list.split(',').any(|name| name == NAME) => list,
        Some(list) => format!("{list},{NAME}"),
        None => NAME.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulators_of_other_machines() {
        let own = format!("/usr/bin/qemu-{}", std::env::consts::ARCH);
        for (name, expected) in [
            ("/usr/bin/qemu-mips64el", true),
            ("qemu-sparc32plus-static", true),
            ("qemu-system-mips64el", false),
            ("qemu-img", false),
            ("qemu-pr-helper", false),
            ("sparc64", false),
            (&own, false),
        ] {
            assert_eq!(is_emulator(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn what_is_kept_from_the_program_stays_so() {
        let unset = |list: &str| unset(Some(OsStr::new(list)));
        assert_eq!(super::unset(None), "LD_PRELOAD");
        assert_eq!(unset(""), "LD_PRELOAD");
        assert_eq!(unset("A,B"), "A,B,LD_PRELOAD");
        assert_eq!(unset("LD_PRELOAD,A"), "LD_PRELOAD,A");
    }
}

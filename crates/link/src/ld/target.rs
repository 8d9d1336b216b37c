//! Target architectures and their huge page sizes.

use hugetools_elf::constants::{self as elf, Machine};
use hugetools_elf::{Class, Endian, Ident};

/// Layout of programs for huge pages on one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// The alignment of segments in bytes.
    pub(crate) size: u64,
    /// GNU ld's default address for programs with fixed addresses.
    pub(crate) base: u64,
}

const MIB: u64 = 1 << 20;

impl Target {
    /// Returns the layout for an architecture; `None` if its huge page size is unknown.
    /// ld.hugetlbfs(1) has the reasons.
    pub(crate) fn of(ident: Ident) -> Option<Target> {
        let (size, base) = match (ident.machine, ident.class) {
            (elf::EM_X86_64, _) => (2 * MIB, 0x40_0000),
            (elf::EM_386, _) => (4 * MIB, 0x804_8000),
            (elf::EM_AARCH64, _) => (2 * MIB, 0x40_0000),
            (elf::EM_ARM | elf::EM_RISCV, _) => (2 * MIB, 0x1_0000),
            (elf::EM_PPC | elf::EM_PPC64, _) => (256 * MIB, 0x1000_0000),
            (elf::EM_S390, Class::Elf64) => (MIB, 0x100_0000),
            (elf::EM_S390, Class::Elf32) => (MIB, 0x40_0000),
            (elf::EM_LOONGARCH, _) => (32 * MIB, 0x1_2000_0000),
            _ => return None,
        };
        Some(Target { size, base })
    }
}

/// Returns the target of an emulation (`-m`), by the names in GNU ld, gold and lld.
pub(crate) fn ident(emulation: &str) -> Option<Ident> {
    use Class::{Elf32, Elf64};
    use Endian::{Big, Little};
    const NAMES: &[(&str, Class, Endian, Machine)] = &[
        ("elf_x86_64", Elf64, Little, elf::EM_X86_64),
        ("elf32_x86_64", Elf32, Little, elf::EM_X86_64),
        ("elf_i386", Elf32, Little, elf::EM_386),
        ("elf64lppc", Elf64, Little, elf::EM_PPC64),
        ("elf64ppc", Elf64, Big, elf::EM_PPC64),
        ("elf32ppc", Elf32, Big, elf::EM_PPC),
        ("elf64_s390", Elf64, Big, elf::EM_S390),
        ("elf_s390", Elf32, Big, elf::EM_S390),
        ("armelf", Elf32, Little, elf::EM_ARM),
        ("elf64lriscv", Elf64, Little, elf::EM_RISCV),
        ("elf64loongarch", Elf64, Little, elf::EM_LOONGARCH),
        ("aarch64linux", Elf64, Little, elf::EM_AARCH64),
        ("aarch64elf", Elf64, Little, elf::EM_AARCH64),
    ];
    // A system name may follow: elf_x86_64_fbsd, armelf_linux_eabi.
    let rest = |name: &str| emulation.strip_prefix(name);
    let fits = |name| rest(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    let powerpc = emulation == "elf32ppclinux";
    let (_, class, endian, machine) = NAMES
        .iter()
        .find(|(name, ..)| fits(name) || powerpc && *name == "elf32ppc")?;
    Some(Ident {
        class: *class,
        endian: *endian,
        machine: *machine,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(emulation: &str) -> Option<(u64, u64)> {
        let target = Target::of(ident(emulation)?)?;
        Some((target.size / MIB, target.base))
    }

    #[test]
    fn parses_the_linkers_emulations() {
        assert_eq!(sizes("elf_x86_64"), Some((2, 0x40_0000)));
        assert_eq!(sizes("elf_x86_64_fbsd"), Some((2, 0x40_0000)));
        assert_eq!(sizes("elf32ppclinux"), Some((256, 0x1000_0000)));
        assert_eq!(sizes("elf64_s390"), Some((1, 0x100_0000)));
        assert_eq!(sizes("elf64lriscv_lp64f"), Some((2, 0x1_0000)));
        assert_eq!(sizes("armelf_linux_eabi"), Some((2, 0x1_0000)));
        assert_eq!(
            ident("elf64ppc").unwrap().to_string(),
            "64-bit big-endian ppc64"
        );
        for (emulation, name) in [
            ("elf64lppc", "powerpc64le"),
            ("elf64ppc", "powerpc64"),
            ("elf64lriscv", "riscv64"),
            ("elf64loongarch", "loongarch64"),
            ("elf64_s390", "s390x"),
        ] {
            assert_eq!(ident(emulation).unwrap().directory_name(), name);
        }
        assert_eq!(sizes("i386pep"), None);
        assert_eq!(sizes("elf_x86_64x"), None);
        assert_eq!(sizes(""), None);
    }
}

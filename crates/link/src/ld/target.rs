//! Target architectures and their huge page sizes.

use hugetools_elf::{Class, Ident, constants as elf};

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

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_elf::Endian;

    #[test]
    fn sizes_depend_on_machine_and_class() {
        let of = |machine, class| {
            let endian = Endian::Big;
            let target = Target::of(Ident {
                class,
                endian,
                machine,
            });
            target.map(|target| (target.size / MIB, target.base))
        };
        let s390 = |class| of(elf::EM_S390, class);
        assert_eq!(s390(Class::Elf64), Some((1, 0x100_0000)));
        assert_eq!(s390(Class::Elf32), Some((1, 0x40_0000)));
        assert_eq!(of(elf::EM_PPC, Class::Elf32), Some((256, 0x1000_0000)));
        assert_eq!(of(elf::EM_SPARCV9, Class::Elf64), None);
    }
}

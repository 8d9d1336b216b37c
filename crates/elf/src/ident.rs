//! The architecture of an ELF file: class, byte order and machine.

use std::fmt;

use object::Endianness;
use object::elf::{self, Machine};

/// The address size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// 32 bits.
    Elf32,
    /// 64 bits.
    Elf64,
}

/// A loader accepts a library only if all three fields match the program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The address size.
    pub class: Class,
    /// The byte order.
    pub endian: Endianness,
    /// The architecture.
    pub machine: Machine,
}

const MACHINE_NAMES: &[(Machine, &str)] = &[
    (elf::EM_386, "i386"),
    (elf::EM_PPC, "ppc"),
    (elf::EM_PPC64, "ppc64"),
    (elf::EM_S390, "s390x"),
    (elf::EM_ARM, "arm"),
    (elf::EM_X86_64, "x86_64"),
    (elf::EM_AARCH64, "aarch64"),
    (elf::EM_RISCV, "riscv"),
    (elf::EM_LOONGARCH, "loongarch"),
];

impl Ident {
    /// Returns the architecture of this program.
    pub fn native() -> Ident {
        let machine = match std::env::consts::ARCH {
            "powerpc64" => elf::EM_PPC64,
            "s390x" => elf::EM_S390,
            "x86_64" => elf::EM_X86_64,
            "aarch64" => elf::EM_AARCH64,
            "riscv64" => elf::EM_RISCV,
            "loongarch64" => elf::EM_LOONGARCH,
            _ => elf::EM_NONE,
        };
        Ident {
            class: Class::Elf64,
            endian: Endianness::default(),
            machine,
        }
    }

    /// Returns the machine without class and byte order, such as `ppc64`.
    pub fn machine_name(&self) -> String {
        match MACHINE_NAMES
            .iter()
            .find(|(machine, _)| *machine == self.machine)
        {
            Some((_, name)) => (*name).to_owned(),
            None => format!("machine {}", self.machine.0),
        }
    }

    /// Returns the machine's name in library directories: `powerpc64le` in
    /// `/usr/lib/powerpc64le-linux-gnu`.
    pub fn directory_name(&self) -> String {
        match (self.machine, self.class, self.endian) {
            (elf::EM_PPC64, _, Endianness::Little) => "powerpc64le".to_owned(),
            (elf::EM_PPC64, _, Endianness::Big) => "powerpc64".to_owned(),
            (elf::EM_RISCV | elf::EM_LOONGARCH, Class::Elf64, _) => {
                format!("{}64", self.machine_name())
            }
            _ => self.machine_name(),
        }
    }
}

impl fmt::Display for Ident {
    /// Writes text such as `64-bit x86_64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = match self.class {
            Class::Elf32 => 32,
            Class::Elf64 => 64,
        };
        let order = match self.endian {
            Endianness::Big => " big-endian",
            Endianness::Little => "",
        };
        write!(f, "{bits}-bit{order} {}", self.machine_name())
    }
}

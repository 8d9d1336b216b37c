//! Synthetic ELF files, four segments by default.

use crate::table::put;
use crate::{Class, ElfError, Endian, Ident, Machine, Table};

pub(super) const R: u32 = 4;
pub(super) const W: u32 = 2;
pub(super) const X: u32 = 1;

/// Flags, offset, address, file size, memory size and alignment of a segment.
pub(super) type Load = (u32, u64, u64, u64, u64, u64);

/// The layout of Debian's linker: headers, text, read-only data, data with bss.
const USUAL: [Load; 4] = [
    (R, 0, 0, 0x600, 0x600, 0x1000),
    (R | X, 0x1000, 0x1000, 0x800, 0x800, 0x1000),
    (R, 0x2000, 0x2000, 0x100, 0x100, 0x1000),
    (R | W, 0x2df0, 0x3df0, 0x210, 0x900, 0x1000),
];

/// A synthetic file.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) ident: Ident,
    pub(super) file_type: u16,
    pub(super) table: u64,
    pub(super) loads: Vec<Load>,
    pub(super) len: usize,
}

fn ident(class: Class, endian: Endian, machine: u16) -> Ident {
    Ident {
        class,
        endian,
        machine: Machine(machine),
    }
}

/// Real machines for every class and byte order.
pub(super) fn idents() -> [Ident; 4] {
    [
        ident(Class::Elf64, Endian::Little, 62),
        ident(Class::Elf64, Endian::Big, 22),
        ident(Class::Elf32, Endian::Little, 3),
        ident(Class::Elf32, Endian::Big, 20),
    ]
}

pub(super) fn usual(ident: Ident) -> Image {
    Image {
        ident,
        file_type: 3,
        table: 64,
        loads: USUAL.to_vec(),
        len: 0x4000,
    }
}

impl Image {
    /// Returns the file. Its table starts with a `PT_PHDR` entry, so indexes of
    /// loads start at 1.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let wide = self.ident.class == Class::Elf64;
        let (word, entry) = if wide { (8, 56) } else { (4, 32) };
        let mut file = vec![0xee; self.len];
        let mut out = Vec::new();
        let mut push = |value: u64, len: usize| {
            let mut field = vec![0; len];
            put(&mut field, value, self.ident.endian);
            out.extend(field);
        };
        push(self.file_type.into(), 2);
        push(self.ident.machine.0.into(), 2);
        push(1, 4);
        for value in [0x1000, self.table, 0] {
            push(value, word);
        }
        push(0, 4);
        for value in [0, entry, self.loads.len() as u64 + 1, 0, 0, 0] {
            push(value, 2);
        }
        file[..16].fill(0);
        file[..4].copy_from_slice(b"\x7fELF");
        file[4] = 1 + u8::from(wide);
        file[5] = 1 + u8::from(self.ident.endian == Endian::Big);
        file[6] = 1;
        file[16..16 + out.len()].copy_from_slice(&out);
        let mut at = usize::try_from(self.table).unwrap();
        let all = std::iter::once((6, (R, 64, 64, 0x118, 0x118, 8)));
        for (kind, load) in all.chain(self.loads.iter().map(|load| (1, *load))) {
            let header = self.header(kind, load);
            file[at..at + header.len()].copy_from_slice(&header);
            at += header.len();
        }
        file
    }

    fn header(&self, kind: u64, load: Load) -> Vec<u8> {
        let (flags, offset, address, file_size, memory_size, align) = load;
        let wide = self.ident.class == Class::Elf64;
        let word = if wide { 8 } else { 4 };
        let flags = (u64::from(flags), 4);
        let mut fields = vec![(kind, 4)];
        fields.extend(wide.then_some(flags));
        fields.extend([offset, address, address, file_size, memory_size].map(|v| (v, word)));
        fields.extend((!wide).then_some(flags));
        fields.push((align, word));
        let field = |(value, len): (u64, usize)| {
            let mut field = vec![0; len];
            put(&mut field, value, self.ident.endian);
            field
        };
        fields.into_iter().flat_map(field).collect()
    }

    pub(super) fn read(&self) -> Result<Table, ElfError> {
        let bytes = self.bytes();
        Table::read(&bytes[..], bytes.len() as u64)
    }
}

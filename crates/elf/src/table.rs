//! The program header table as hugeedit needs it: loadable segments and their marks.

use std::mem::offset_of;

use object::Endianness;
use object::elf::{self, ProgramHeader32, ProgramHeader64};
use object::read::{ReadCache, ReadRef};

use crate::Input;
use crate::error::ElfError;
use crate::header::{self, Load};
use crate::ident::{Class, Ident};

/// Text or data, as options name segments. Other segments, such as read-only ones, have no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Readable and executable, without bss.
    Text,
    /// Readable and writable; on 32-bit PowerPC also executable.
    Data,
}

/// A loadable segment (`PT_LOAD`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Index in the program header table, which counts headers of all types.
    pub index: usize,
    /// Its decoded program header.
    pub load: Load,
    /// All flags (`p_flags`), with the mark.
    pub flags: u32,
    /// Text or data; `None` if neither.
    pub role: Option<Role>,
}

/// Whether the addresses of a file are fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// A program at fixed addresses (`ET_EXEC`).
    Fixed,
    /// A position-independent program or library (`ET_DYN`).
    Anywhere,
    /// An object file or a core dump.
    NotLoaded,
}

/// The program header table, raw and decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The architecture.
    pub ident: Ident,
    /// Whether its addresses are fixed.
    pub placing: Placing,
    /// The loadable segments, in the order of the table.
    pub segments: Vec<Segment>,
    /// File offset of the table.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

const TABLE: &str = "program header table";

impl Segment {
    /// Fails unless the segment lies within the address space and the file of `len` bytes.
    fn check(&self, len: u64, class: Class) -> Result<(), ElfError> {
        let invalid = |why| Err(ElfError::Segment(self.index, why));
        let load = &self.load;
        let highest = match class {
            Class::Elf32 => u64::from(u32::MAX),
            Class::Elf64 => u64::MAX,
        };
        if load.file_size > load.memory_size {
            return invalid("has more bytes in the file than in memory");
        }
        if load.address > highest - load.memory_size.min(highest) {
            return invalid("reaches beyond the last address");
        }
        match load.offset.checked_add(load.file_size) {
            Some(end) if end <= len => Ok(()),
            _ => invalid("ends after the end of the file"),
        }
    }
}

impl Table {
    /// Reads the table of a file and checks that every segment could be loaded.
    ///
    /// # Errors
    /// The file is not ELF, or a part is missing or invalid.
    pub fn read(input: impl Into<Input>) -> Result<Table, ElfError> {
        let data = &ReadCache::new(input.into());
        let headers = header::read(data)?;
        if headers.table_len > 0 && headers.table < headers.header_size {
            return Err(ElfError::Invalid(TABLE));
        }
        let invalid = |()| ElfError::Invalid(TABLE);
        let bytes = data.read_bytes_at(headers.table, headers.table_len);
        let segments = headers.loads.iter().zip(&headers.flags);
        let table = Table {
            ident: headers.ident,
            placing: match elf::FileType(headers.file_type) {
                elf::ET_EXEC => Placing::Fixed,
                elf::ET_DYN => Placing::Anywhere,
                _ => Placing::NotLoaded,
            },
            segments: segments
                .map(|(load, &(index, flags))| Segment {
                    index,
                    load: *load,
                    flags,
                    role: role(load, flags, headers.ident),
                })
                .collect(),
            offset: headers.table,
            bytes: bytes.map_err(invalid)?.to_vec(),
        };
        let len = data.len().map_err(invalid)?;
        for segment in &table.segments {
            segment.check(len, table.ident.class)?;
        }
        Ok(table)
    }
}

/// The size of a program header, the offsets of the fields that an edit changes, and the
/// size of `p_align`. `p_flags` has 4 bytes.
pub(crate) struct Layout {
    pub(crate) entry: usize,
    pub(crate) flags: usize,
    pub(crate) align: usize,
    pub(crate) word: usize,
}

impl Layout {
    pub(crate) fn of(class: Class) -> Layout {
        type Header32 = ProgramHeader32<Endianness>;
        type Header64 = ProgramHeader64<Endianness>;
        match class {
            Class::Elf32 => Layout {
                entry: size_of::<Header32>(),
                flags: offset_of!(Header32, p_flags),
                align: offset_of!(Header32, p_align),
                word: 4,
            },
            Class::Elf64 => Layout {
                entry: size_of::<Header64>(),
                flags: offset_of!(Header64, p_flags),
                align: offset_of!(Header64, p_align),
                word: 8,
            },
        }
    }
}

fn role(load: &Load, flags: u32, ident: Ident) -> Option<Role> {
    const R: u32 = elf::PF_R.0;
    const W: u32 = elf::PF_W.0;
    const X: u32 = elf::PF_X.0;
    const TEXT: u32 = R | X;
    const DATA: u32 = R | W;
    const ALL: u32 = R | W | X;
    let powerpc = ident.class == Class::Elf32 && ident.machine == elf::EM_PPC;
    match flags & ALL {
        TEXT if load.memory_size == load.file_size => Some(Role::Text),
        DATA => Some(Role::Data),
        ALL if powerpc => Some(Role::Data),
        _ => None,
    }
}

/// Encodes a number into `bytes`, at most 8.
pub(crate) fn put(bytes: &mut [u8], value: u64, endian: Endianness) {
    let all = value.to_le_bytes();
    let len = bytes.len();
    bytes.copy_from_slice(&all[..len]);
    if endian == Endianness::Big {
        bytes.reverse();
    }
}

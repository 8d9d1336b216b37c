//! The program header table as hugeedit needs it: loadable segments and their marks.

use object::Endianness;
use object::elf::{self, ProgramFlags, ProgramHeader32, ProgramHeader64};
use object::pod::slice_from_all_bytes_mut;
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

    /// Writes flags and alignments of the segments to the raw table.
    pub(crate) fn encode(&mut self) {
        let (endian, bytes) = (self.ident.endian, &mut self.bytes);
        match self.ident.class {
            Class::Elf32 => {
                let headers: &mut [ProgramHeader32<Endianness>] =
                    slice_from_all_bytes_mut(bytes).unwrap_or_default();
                for segment in &self.segments {
                    let header = &mut headers[segment.index];
                    header.p_flags.set(endian, ProgramFlags(segment.flags));
                    // `Table::edit` limits it to 4 MiB.
                    let align = u32::try_from(segment.load.align).unwrap_or(u32::MAX);
                    header.p_align.set(endian, align);
                }
            }
            Class::Elf64 => {
                let headers: &mut [ProgramHeader64<Endianness>] =
                    slice_from_all_bytes_mut(bytes).unwrap_or_default();
                for segment in &self.segments {
                    let header = &mut headers[segment.index];
                    header.p_flags.set(endian, ProgramFlags(segment.flags));
                    header.p_align.set(endian, segment.load.align);
                }
            }
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

//! The program header table as hugeedit needs it: loadable segments and their marks.

use object::elf;

use crate::error::ElfError;
use crate::header::{self, Load};
use crate::ident::{Class, Endian, Ident};
use crate::source::{Reader, Source};

/// The segment flag that asks for huge pages (`PF_LINUX_HUGETLB`).
pub const MARK: u32 = 0x0010_0000;

/// Text or data, as options name segments. Segments that are read-only, or writable and
/// executable, are neither.
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
    /// Its position and size.
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
    /// An object file or a core dump: never loaded.
    Nowhere,
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
    /// Whether it asks for huge pages.
    pub fn is_marked(&self) -> bool {
        self.flags & MARK != 0
    }

    /// Fails if no loader would accept the segment.
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
    /// Reads the table of a file of `len` bytes and checks that every segment could
    /// be loaded.
    ///
    /// # Errors
    ///
    /// When it is not an ELF file, or a part is missing or invalid.
    pub fn read<S: Source>(source: S, len: u64) -> Result<Table, ElfError> {
        let reader = Reader::new(source)?;
        let headers = header::read(&reader)?;
        let layout = Layout::of(headers.ident.class);
        let size = u64::from(headers.count) * layout.entry as u64;
        if size > 0 && headers.table < layout.file_header {
            return Err(ElfError::Invalid(TABLE));
        }
        let table = Table {
            ident: headers.ident,
            placing: match elf::FileType(headers.file_type) {
                elf::ET_EXEC => Placing::Fixed,
                elf::ET_DYN => Placing::Anywhere,
                _ => Placing::Nowhere,
            },
            segments: Vec::new(),
            offset: headers.table,
            bytes: match size {
                0 => Vec::new(),
                size => reader.bytes(headers.table, size, TABLE)?,
            },
        };
        let table = table.parsed();
        for segment in &table.segments {
            segment.check(len, table.ident.class)?;
        }
        Ok(table)
    }

    /// Decodes the segments again from the bytes.
    pub(crate) fn parsed(mut self) -> Table {
        let layout = Layout::of(self.ident.class);
        let entries = self.bytes.chunks_exact(layout.entry).enumerate();
        self.segments = entries
            .filter_map(|(index, entry)| layout.segment(index, entry, self.ident))
            .collect();
        self
    }
}

/// Offsets of the fields in a program header. A `word` has 4 or 8 bytes, the other
/// fields 4.
pub(crate) struct Layout {
    file_header: u64,
    pub(crate) entry: usize,
    pub(crate) word: usize,
    pub(crate) flags: usize,
    offset: usize,
    address: usize,
    file_size: usize,
    memory_size: usize,
    pub(crate) align: usize,
}

impl Layout {
    pub(crate) fn of(class: Class) -> Layout {
        match class {
            Class::Elf32 => Layout {
                file_header: 52,
                entry: 32,
                word: 4,
                flags: 24,
                offset: 4,
                address: 8,
                file_size: 16,
                memory_size: 20,
                align: 28,
            },
            Class::Elf64 => Layout {
                file_header: 64,
                entry: 56,
                word: 8,
                flags: 4,
                offset: 8,
                address: 16,
                file_size: 32,
                memory_size: 40,
                align: 48,
            },
        }
    }

    /// Decodes an entry; `None` unless it is loadable.
    fn segment(&self, index: usize, entry: &[u8], ident: Ident) -> Option<Segment> {
        let number = |at: usize, len: usize| number(&entry[at..at + len], ident.endian);
        if number(0, 4) != u64::from(elf::PT_LOAD.0) {
            return None;
        }
        let flags = u32::try_from(number(self.flags, 4)).unwrap_or(0);
        let word = |at| number(at, self.word);
        let load = Load {
            offset: word(self.offset),
            address: word(self.address),
            file_size: word(self.file_size),
            memory_size: word(self.memory_size),
            align: word(self.align),
            writable: flags & elf::PF_W.0 != 0,
            executable: flags & elf::PF_X.0 != 0,
            marked: flags & MARK != 0,
        };
        Some(Segment {
            index,
            load,
            flags,
            role: role(&load, flags, ident),
        })
    }
}

fn role(load: &Load, flags: u32, ident: Ident) -> Option<Role> {
    const R: u32 = elf::PF_R.0;
    const W: u32 = elf::PF_W.0;
    const X: u32 = elf::PF_X.0;
    const TEXT: u32 = R | X;
    const DATA: u32 = R | W;
    const ALL: u32 = R | W | X;
    let powerpc = ident.class == Class::Elf32 && ident.machine.0 == elf::EM_PPC.0;
    match flags & ALL {
        TEXT if load.memory_size == load.file_size => Some(Role::Text),
        DATA => Some(Role::Data),
        ALL if powerpc => Some(Role::Data),
        _ => None,
    }
}

/// Decodes a number of at most 8 bytes.
fn number(bytes: &[u8], endian: Endian) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    match endian {
        Endian::Little => bytes.iter().rev().fold(0, add),
        Endian::Big => bytes.iter().fold(0, add),
    }
}

/// Encodes a number into `bytes`, at most 8.
pub(crate) fn put(bytes: &mut [u8], value: u64, endian: Endian) {
    let all = value.to_le_bytes();
    let len = bytes.len();
    bytes.copy_from_slice(&all[..len]);
    if endian == Endian::Big {
        bytes.reverse();
    }
}

//! Decodes the file header and the program headers.

use std::ops::Range;

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};

use crate::Input;
use crate::error::ElfError;
use crate::ident::{Class, Ident};

/// How a file is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// At a fixed address, by the loader.
    Exec,
    /// At a fixed address, by the kernel alone.
    Static,
    /// At any address, by the loader. Includes libraries that name a loader, such as libc.so.6.
    Pie,
    /// At any address, by the kernel alone.
    StaticPie,
    /// A library, or the loader itself (the kernel can start that).
    Library,
    /// Not startable: an object file or a core dump.
    Other,
}

/// A loadable segment (`PT_LOAD`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Offset in the file.
    pub offset: u64,
    /// Virtual address, before the load bias.
    pub address: u64,
    /// Bytes from the file: text or data.
    pub file_size: u64,
    /// Bytes in memory. Those beyond `file_size` are bss.
    pub memory_size: u64,
    /// Alignment. Address and offset are congruent modulo this.
    pub align: u64,
    /// Whether it is writable.
    pub writable: bool,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether it is marked for huge pages (`PF_LINUX_HUGETLB`).
    pub marked: bool,
}

impl Load {
    /// Returns the end of the segment in memory (exclusive).
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.memory_size)
    }

    /// Returns the end of the bytes that come from the file (exclusive).
    pub fn file_end(&self) -> u64 {
        self.address.saturating_add(self.file_size)
    }
}

/// A range of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

#[derive(Debug)]
pub(crate) struct Headers {
    pub(crate) ident: Ident,
    /// Size of the file header in bytes.
    pub(crate) header_size: u64,
    pub(crate) file_type: u16,
    /// File offset of the program header table.
    pub(crate) table: u64,
    /// Its length in bytes.
    pub(crate) table_len: u64,
    pub(crate) loads: Vec<Load>,
    /// For each load, its index in the program header table and its flags (`p_flags`).
    pub(crate) flags: Vec<(usize, u32)>,
    /// Data that the loader write-protects after relocation.
    pub(crate) relro: Option<Range<u64>>,
    /// The `PT_NOTE` segments.
    pub(crate) notes: Vec<Place>,
    pub(crate) interpreter: Option<Place>,
    pub(crate) dynamic: Option<Place>,
}

/// The segment flag that asks for huge pages (`PF_LINUX_HUGETLB`).
pub const MARK: u32 = 0x0010_0000;

const HEADER: &str = "header";
const TABLE: &str = "program header table";

pub(crate) fn read(data: &ReadCache<Input>) -> Result<Headers, ElfError> {
    match FileKind::parse(data) {
        Ok(FileKind::Elf32) => read_class::<FileHeader32<Endianness>>(data, Class::Elf32),
        Ok(FileKind::Elf64) => read_class::<FileHeader64<Endianness>>(data, Class::Elf64),
        _ => Err(ElfError::NotElf),
    }
}

fn read_class<H>(data: &ReadCache<Input>, class: Class) -> Result<Headers, ElfError>
where
    H: FileHeader<Endian = Endianness>,
{
    let header = H::parse(data).map_err(|_error| ElfError::Invalid(HEADER))?;
    let endian = header
        .endian()
        .map_err(|_error| ElfError::Invalid(HEADER))?;
    let programs = header
        .program_headers(endian, data)
        .map_err(|_error| ElfError::Invalid(TABLE))?;
    let mut headers = Headers {
        ident: Ident {
            class,
            endian,
            machine: header.e_machine(endian),
        },
        header_size: size_of::<H>() as u64,
        file_type: header.e_type(endian).0,
        table: header.e_phoff(endian).into(),
        table_len: size_of_val(programs) as u64,
        loads: Vec::new(),
        flags: Vec::new(),
        relro: None,
        notes: Vec::new(),
        interpreter: None,
        dynamic: None,
    };
    for (index, program) in programs.iter().enumerate() {
        headers.take(index, program, endian);
    }
    Ok(headers)
}

impl Headers {
    fn take<P: ProgramHeader<Endian = Endianness>>(
        &mut self,
        index: usize,
        program: &P,
        endian: Endianness,
    ) {
        let place = Place {
            offset: program.p_offset(endian).into(),
            len: program.p_filesz(endian).into(),
        };
        let flags = program.p_flags(endian).0;
        let (address, memory_size): (u64, u64) = (
            program.p_vaddr(endian).into(),
            program.p_memsz(endian).into(),
        );
        match program.p_type(endian) {
            elf::PT_LOAD => {
                self.flags.push((index, flags));
                self.loads.push(Load {
                    offset: place.offset,
                    address,
                    file_size: place.len,
                    memory_size,
                    align: program.p_align(endian).into(),
                    writable: flags & elf::PF_W.0 != 0,
                    executable: flags & elf::PF_X.0 != 0,
                    marked: flags & MARK != 0,
                });
            }
            elf::PT_GNU_RELRO => self.relro = Some(address..address.saturating_add(memory_size)),
            elf::PT_NOTE => self.notes.push(place),
            elf::PT_INTERP => self.interpreter = self.interpreter.or(Some(place)),
            elf::PT_DYNAMIC => self.dynamic = self.dynamic.or(Some(place)),
            _ => {}
        }
    }

    /// Maps an address to the file. The length is the rest of the segment's bytes in the file.
    pub(crate) fn place_of(&self, address: u64) -> Option<Place> {
        let load = self
            .loads
            .iter()
            .find(|load| load.address <= address && address < load.file_end())?;
        let into = address - load.address;
        Some(Place {
            offset: load.offset.checked_add(into)?,
            len: load.file_size - into,
        })
    }
}

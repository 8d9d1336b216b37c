//! Decodes the file header and the program headers.

use std::ops::Range;

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, pod};

use crate::error::ElfError;
use crate::ident::{Class, Ident, Machine};
use crate::source::{Reader, Source};

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
    pub(crate) count: u16,
    pub(crate) loads: Vec<Load>,
    /// For each load, its index in the program header table and its flags (`p_flags`).
    pub(crate) flags: Vec<(usize, u32)>,
    /// Data that the loader write-protects after relocation.
    pub(crate) relro: Option<Range<u64>>,
    /// The section header table. A program may have none.
    pub(crate) sections: Place,
    /// The `PT_NOTE` segments.
    pub(crate) notes: Vec<Place>,
    pub(crate) interpreter: Option<Place>,
    pub(crate) dynamic: Option<Place>,
}

/// The segment flag that asks for huge pages (`PF_LINUX_HUGETLB`).
pub const MARK: u32 = 0x0010_0000;

const HEADER: &str = "header";
const TABLE: &str = "program header table";

pub(crate) fn read<S: Source>(reader: &Reader<S>) -> Result<Headers, ElfError> {
    let magic = reader.up_to(0, 16, HEADER)?;
    if !magic.starts_with(&elf::ELFMAG) {
        return Err(ElfError::NotElf);
    }
    match magic.get(4) {
        Some(1) => read_class::<FileHeader32<Endianness>, S>(reader, Class::Elf32),
        Some(2) => read_class::<FileHeader64<Endianness>, S>(reader, Class::Elf64),
        Some(_) => Err(ElfError::Invalid(HEADER)),
        None => Err(ElfError::Truncated(HEADER)),
    }
}

fn read_class<H, S>(reader: &Reader<S>, class: Class) -> Result<Headers, ElfError>
where
    H: FileHeader<Endian = Endianness>,
    S: Source,
{
    let bytes = reader.bytes(0, size_of::<H>() as u64, HEADER)?;
    let header = H::parse(&bytes[..]).map_err(|_error| ElfError::Invalid(HEADER))?;
    let endian = header
        .endian()
        .map_err(|_error| ElfError::Invalid(HEADER))?;
    let mut headers = Headers {
        ident: Ident {
            class,
            endian,
            machine: Machine(header.e_machine(endian).0),
        },
        header_size: size_of::<H>() as u64,
        file_type: header.e_type(endian).0,
        table: header.e_phoff(endian).into(),
        count: header.e_phnum(endian),
        loads: Vec::new(),
        flags: Vec::new(),
        relro: None,
        sections: Place {
            offset: header.e_shoff(endian).into(),
            len: u64::from(header.e_shnum(endian)) * size_of::<H::SectionHeader>() as u64,
        },
        notes: Vec::new(),
        interpreter: None,
        dynamic: None,
    };
    let programs = programs::<H, S>(reader, header, endian)?;
    for (index, program) in programs.iter().enumerate() {
        headers.take(index, program, endian);
    }
    Ok(headers)
}

fn programs<H, S>(
    reader: &Reader<S>,
    header: &H,
    endian: Endianness,
) -> Result<Vec<H::ProgramHeader>, ElfError>
where
    H: FileHeader<Endian = Endianness>,
    S: Source,
{
    let count = header.e_phnum(endian);
    let size = size_of::<H::ProgramHeader>();
    if count == 0 {
        return Ok(Vec::new());
    }
    // 0xffff (PN_XNUM) means that the count is in a section header. The kernel accepts at most
    // 64 KiB of program headers, which is far fewer.
    if usize::from(header.e_phentsize(endian)) != size || count == u16::MAX {
        return Err(ElfError::Invalid(TABLE));
    }
    let len = u64::from(count) * size as u64;
    let bytes = reader.bytes(header.e_phoff(endian).into(), len, TABLE)?;
    let (programs, _) = pod::slice_from_bytes(&bytes, usize::from(count))
        .map_err(|_error| ElfError::Truncated(TABLE))?;
    Ok(programs.to_vec())
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

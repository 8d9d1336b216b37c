//! An ELF file: headers and dynamic section.

use std::ops::Range;

use object::elf::{self, Dyn32, Dyn64};
use object::read::elf::Dyn;
use object::{Endianness, pod};

use crate::error::ElfError;
use crate::header::{self, Headers, Kind, Load, Place};
use crate::ident::{Class, Endian, Ident};
use crate::source::{Reader, Source};

/// The dynamic section (`PT_DYNAMIC`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// The needed libraries (`DT_NEEDED`), in order.
    pub needed: Vec<Vec<u8>>,
    /// The library's own name (`DT_SONAME`).
    pub soname: Option<Vec<u8>>,
    /// Search path before `LD_LIBRARY_PATH` (`DT_RPATH`).
    pub rpath: Option<Vec<u8>>,
    /// Search path after `LD_LIBRARY_PATH` (`DT_RUNPATH`).
    pub runpath: Option<Vec<u8>>,
    pub(crate) tables: Tables,
    pie: bool,
}

/// Addresses and sizes of the symbol tables; 0 if absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) strings: u64,
    pub(crate) strings_len: u64,
    pub(crate) symbols: u64,
    pub(crate) gnu_hash: u64,
    pub(crate) hash: u64,
}

/// An ELF file. Symbols are read on demand.
#[derive(Debug)]
pub struct Elf<S> {
    pub(crate) reader: Reader<S>,
    pub(crate) headers: Headers,
    interpreter: Option<Vec<u8>>,
    dynamic: Option<Dynamic>,
}

/// Longest library name or search path (bytes). Longer strings are an error.
const MAX_STRING: u64 = 64 << 10;
const DYNAMIC: &str = "dynamic section";
const STRINGS: &str = "string table";

impl<S: Source> Elf<S> {
    /// Reads headers and dynamic section.
    ///
    /// # Errors
    /// When it is not an ELF file, or no loader would accept it.
    pub fn read(source: S) -> Result<Elf<S>, ElfError> {
        let reader = Reader::new(source)?;
        let headers = header::read(&reader)?;
        let interpreter = match headers.interpreter {
            None => None,
            Some(place) => Some(read_interpreter(&reader, place)?),
        };
        let dynamic = match headers.dynamic {
            None => None,
            Some(place) => Some(read_dynamic(&reader, &headers, place)?),
        };
        Ok(Elf {
            reader,
            headers,
            interpreter,
            dynamic,
        })
    }

    /// The architecture.
    pub fn ident(&self) -> Ident {
        self.headers.ident
    }

    /// How the file is started.
    pub fn kind(&self) -> Kind {
        let dynamic = self.dynamic.as_ref();
        match (elf::FileType(self.headers.file_type), &self.interpreter) {
            (elf::ET_EXEC, Some(_)) => Kind::Exec,
            (elf::ET_EXEC, None) => Kind::Static,
            (elf::ET_DYN, Some(_)) => Kind::Pie,
            (elf::ET_DYN, None) if dynamic.is_some_and(|dynamic| dynamic.pie) => Kind::StaticPie,
            (elf::ET_DYN, None) => Kind::Library,
            _ => Kind::Other,
        }
    }

    /// The path of the loader (`PT_INTERP`).
    pub fn interpreter(&self) -> Option<&[u8]> {
        self.interpreter.as_deref()
    }

    /// The dynamic section.
    pub fn dynamic(&self) -> Option<&Dynamic> {
        self.dynamic.as_ref()
    }

    /// The loadable segments, in the order of the file's table.
    pub fn loads(&self) -> &[Load] {
        &self.headers.loads
    }

    /// Addresses, before the load bias, that the loader write-protects after
    /// relocation (`PT_GNU_RELRO`).
    pub fn relro(&self) -> Option<Range<u64>> {
        self.headers.relro.clone()
    }

    /// Whether a segment is marked for huge pages (`PF_LINUX_HUGETLB`).
    pub fn is_marked(&self) -> bool {
        self.headers.marked
    }

    /// The address of the entry point, before the load bias.
    pub fn entry(&self) -> u64 {
        self.headers.entry
    }

    /// The address of the program headers, before the load bias. The kernel passes
    /// it to the process as `AT_PHDR`.
    pub fn header_address(&self) -> Option<u64> {
        let table = self.headers.table;
        let holds = |load: &&Load| load.offset <= table && table - load.offset < load.file_size;
        let load = self.headers.loads.iter().find(holds)?;
        load.address.checked_add(table - load.offset)
    }

    pub(crate) fn endian(&self) -> Endianness {
        endianness(self.headers.ident)
    }
}

pub(crate) fn endianness(ident: Ident) -> Endianness {
    match ident.endian {
        Endian::Little => Endianness::Little,
        Endian::Big => Endianness::Big,
    }
}

fn read_interpreter<S: Source>(reader: &Reader<S>, place: Place) -> Result<Vec<u8>, ElfError> {
    const WHAT: &str = "loader's name";
    // The kernel's own limit is PATH_MAX, the final zero included.
    if place.len > 4096 {
        return Err(ElfError::TooLarge(WHAT));
    }
    let bytes = reader.bytes(place.offset, place.len, WHAT)?;
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    match name.is_empty() {
        true => Err(ElfError::Invalid(WHAT)),
        false => Ok(name.to_vec()),
    }
}

fn read_dynamic<S: Source>(
    reader: &Reader<S>,
    headers: &Headers,
    place: Place,
) -> Result<Dynamic, ElfError> {
    let bytes = reader.bytes(place.offset, place.len, DYNAMIC)?;
    let endian = endianness(headers.ident);
    let entries = match headers.ident.class {
        Class::Elf32 => entries::<Dyn32<Endianness>>(&bytes, endian),
        Class::Elf64 => entries::<Dyn64<Endianness>>(&bytes, endian),
    };
    let mut dynamic = Dynamic::default();
    let (mut needed, mut soname, mut rpath, mut runpath) = (Vec::new(), None, None, None);
    for (tag, value) in entries {
        let tables = &mut dynamic.tables;
        match elf::DynamicTag(tag) {
            elf::DT_NEEDED => needed.push(value),
            elf::DT_SONAME => soname = Some(value),
            elf::DT_RPATH => rpath = Some(value),
            elf::DT_RUNPATH => runpath = Some(value),
            elf::DT_STRTAB => tables.strings = value,
            elf::DT_STRSZ => tables.strings_len = value,
            elf::DT_SYMTAB => tables.symbols = value,
            elf::DT_GNU_HASH => tables.gnu_hash = value,
            elf::DT_HASH if !wide_hash(headers.ident) => tables.hash = value,
            elf::DT_FLAGS_1 => dynamic.pie = value & elf::DF_1_PIE.0 != 0,
            _ => {}
        }
    }
    let string = |value| read_string(reader, headers, &dynamic.tables, value);
    let needed = needed.into_iter().map(string).collect::<Result<_, _>>()?;
    let (soname, rpath, runpath) = (
        soname.map(string).transpose()?,
        rpath.map(string).transpose()?,
        runpath.map(string).transpose()?,
    );
    Ok(Dynamic {
        needed,
        soname,
        rpath,
        runpath,
        ..dynamic
    })
}

/// Whether `DT_HASH` has 8-byte words. That is so on two architectures, whose files
/// have a `DT_GNU_HASH` too.
fn wide_hash(ident: Ident) -> bool {
    const ALPHA: u16 = 0x9026;
    let machine = ident.machine.0;
    ident.class == Class::Elf64 && (machine == elf::EM_S390.0 || machine == ALPHA)
}

/// The entries before `DT_NULL`.
fn entries<D: Dyn<Endian = Endianness>>(bytes: &[u8], endian: Endianness) -> Vec<(i64, u64)> {
    let count = bytes.len() / size_of::<D>();
    let Ok((entries, _)) = pod::slice_from_bytes::<D>(bytes, count) else {
        return Vec::new();
    };
    let plain = entries.iter().map(|d| (d.tag(endian).0, d.val(endian)));
    plain
        .take_while(|(tag, _)| *tag != elf::DT_NULL.0)
        .collect()
}

fn read_string<S: Source>(
    reader: &Reader<S>,
    headers: &Headers,
    tables: &Tables,
    at: u64,
) -> Result<Vec<u8>, ElfError> {
    let address = tables
        .strings
        .checked_add(at)
        .ok_or(ElfError::Invalid(STRINGS))?;
    if at >= tables.strings_len {
        return Err(ElfError::Invalid(STRINGS));
    }
    let place = headers
        .place_of(address)
        .ok_or(ElfError::Invalid(STRINGS))?;
    let limit = place.len.min(tables.strings_len - at).min(MAX_STRING);
    let mut len = limit.min(256);
    loop {
        let bytes = reader.up_to(place.offset, len, STRINGS)?;
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            return Ok(bytes[..end].to_vec());
        }
        if len == limit || (bytes.len() as u64) < len {
            return Err(ElfError::Invalid(STRINGS));
        }
        len = limit.min(len * 8);
    }
}

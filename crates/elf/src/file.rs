//! An ELF file: headers and dynamic section.

use std::cell::OnceCell;
use std::ops::Range;

use object::elf::{self, Dyn32, Dyn64};
use object::read::elf::Dyn;
use object::{Endianness, pod};

use crate::error::ElfError;
use crate::header::{self, Headers, Kind, Load, Place};
use crate::ident::{Class, Ident};
use crate::source::{Reader, Source};
use crate::symbols::Symbols;

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
    /// Whether there are symbols (`DT_SYMTAB`).
    pub(crate) has_symbols: bool,
    pie: bool,
}

/// The address and size of the string table.
#[derive(Debug, Clone, Copy, Default)]
struct Strings {
    address: u64,
    len: u64,
}

/// An ELF file. Symbols are read on demand.
#[derive(Debug)]
pub struct Elf<S> {
    pub(crate) reader: Reader<S>,
    pub(crate) headers: Headers,
    pub(crate) symbols: OnceCell<Symbols>,
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
    /// The file is not ELF, or a part is missing, invalid or too large.
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
            symbols: OnceCell::new(),
            interpreter,
            dynamic,
        })
    }

    /// Returns the architecture.
    pub fn ident(&self) -> Ident {
        self.headers.ident
    }

    /// Returns how the file is started.
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

    /// Returns the path of the loader (`PT_INTERP`).
    pub fn interpreter(&self) -> Option<&[u8]> {
        self.interpreter.as_deref()
    }

    /// Returns the dynamic section.
    pub fn dynamic(&self) -> Option<&Dynamic> {
        self.dynamic.as_ref()
    }

    /// Returns the loadable segments, in the order of the file's table.
    pub fn loads(&self) -> &[Load] {
        &self.headers.loads
    }

    /// Returns the range that the loader write-protects after relocation (`PT_GNU_RELRO`), before
    /// the load bias.
    pub fn relro(&self) -> Option<Range<u64>> {
        self.headers.relro.clone()
    }

    /// Whether a segment is marked for huge pages (`PF_LINUX_HUGETLB`).
    pub fn is_marked(&self) -> bool {
        self.headers.loads.iter().any(|load| load.marked)
    }

    /// Returns the address of the program headers, before the load bias. The kernel passes it to
    /// the process as `AT_PHDR`.
    pub fn header_address(&self) -> Option<u64> {
        let table = self.headers.table;
        let holds = |load: &&Load| load.offset <= table && table - load.offset < load.file_size;
        let load = self.headers.loads.iter().find(holds)?;
        load.address.checked_add(table - load.offset)
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
    let endian = headers.ident.endian;
    let entries = match headers.ident.class {
        Class::Elf32 => entries::<Dyn32<Endianness>>(&bytes, endian),
        Class::Elf64 => entries::<Dyn64<Endianness>>(&bytes, endian),
    };
    let (mut dynamic, mut strings) = (Dynamic::default(), Strings::default());
    let (mut needed, mut soname, mut rpath, mut runpath) = (Vec::new(), None, None, None);
    for (tag, value) in entries {
        match elf::DynamicTag(tag) {
            elf::DT_NEEDED => needed.push(value),
            elf::DT_SONAME => soname = Some(value),
            elf::DT_RPATH => rpath = Some(value),
            elf::DT_RUNPATH => runpath = Some(value),
            elf::DT_STRTAB => strings.address = value,
            elf::DT_STRSZ => strings.len = value,
            elf::DT_SYMTAB => dynamic.has_symbols = true,
            elf::DT_FLAGS_1 => dynamic.pie = value & elf::DF_1_PIE.0 != 0,
            _ => {}
        }
    }
    let string = |value| read_string(reader, headers, strings, value);
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

/// Returns the entries before `DT_NULL`.
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
    strings: Strings,
    at: u64,
) -> Result<Vec<u8>, ElfError> {
    let address = strings.address.checked_add(at).filter(|_| at < strings.len);
    let place = address.and_then(|address| headers.place_of(address));
    let place = place.ok_or(ElfError::Invalid(STRINGS))?;
    let limit = place.len.min(strings.len - at).min(MAX_STRING);
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

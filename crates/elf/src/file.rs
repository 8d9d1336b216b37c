//! An ELF file: headers and dynamic section.

use std::ops::Range;

use object::Endianness;
use object::elf::{self, Dyn32, Dyn64};
use object::read::elf::Dyn;
use object::read::{ReadCache, ReadRef};

use crate::Input;
use crate::error::ElfError;
use crate::header::{self, Headers, Kind, Load, Place};
use crate::ident::{Class, Ident};

/// The dynamic section (`PT_DYNAMIC`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// The needed libraries (`DT_NEEDED`), in order.
    pub needed: Vec<Vec<u8>>,
    /// Search path before `LD_LIBRARY_PATH` (`DT_RPATH`).
    pub rpath: Option<Vec<u8>>,
    /// Search path after `LD_LIBRARY_PATH` (`DT_RUNPATH`).
    pub runpath: Option<Vec<u8>>,
    /// Whether there are symbols (`DT_SYMTAB`).
    pub(crate) has_symbols: bool,
    pie: bool,
}

/// An ELF file. Symbols are read on demand.
#[derive(Debug)]
pub struct Elf {
    pub(crate) data: ReadCache<Input>,
    pub(crate) headers: Headers,
    interpreter: Option<Vec<u8>>,
    dynamic: Option<Dynamic>,
}

/// Longest library name or search path (bytes).
const MAX_STRING: u64 = 64 << 10;
const DYNAMIC: &str = "dynamic section";
const INTERPRETER: &str = "loader's name";
const STRINGS: &str = "string table";

impl Elf {
    /// Reads headers and dynamic section.
    ///
    /// # Errors
    /// The file is not ELF, or a part is missing or invalid.
    pub fn read(input: impl Into<Input>) -> Result<Elf, ElfError> {
        let data = ReadCache::new(input.into());
        let headers = header::read(&data)?;
        let interpreter = match headers.interpreter {
            None => None,
            Some(place) => Some(read_interpreter(&data, place)?),
        };
        let dynamic = match headers.dynamic {
            None => None,
            Some(place) => Some(read_dynamic(&data, &headers, place)?),
        };
        Ok(Elf {
            data,
            headers,
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

fn read_interpreter(data: &ReadCache<Input>, place: Place) -> Result<Vec<u8>, ElfError> {
    let bytes = data.read_bytes_at(place.offset, place.len);
    let bytes = bytes.map_err(|()| ElfError::Invalid(INTERPRETER))?;
    match bytes.split(|byte| *byte == 0).next() {
        None | Some([]) => Err(ElfError::Invalid(INTERPRETER)),
        Some(name) => Ok(name.to_vec()),
    }
}

fn read_dynamic(
    data: &ReadCache<Input>,
    headers: &Headers,
    place: Place,
) -> Result<Dynamic, ElfError> {
    let endian = headers.ident.endian;
    let entries = match headers.ident.class {
        Class::Elf32 => entries::<Dyn32<Endianness>>(data, place, endian),
        Class::Elf64 => entries::<Dyn64<Endianness>>(data, place, endian),
    };
    let mut dynamic = Dynamic::default();
    let (mut address, mut len) = (0, 0);
    let (mut needed, mut rpath, mut runpath) = (Vec::new(), None, None);
    for (tag, value) in entries? {
        match elf::DynamicTag(tag) {
            elf::DT_NEEDED => needed.push(value),
            elf::DT_RPATH => rpath = Some(value),
            elf::DT_RUNPATH => runpath = Some(value),
            elf::DT_STRTAB => address = value,
            elf::DT_STRSZ => len = value,
            elf::DT_SYMTAB => dynamic.has_symbols = true,
            elf::DT_FLAGS_1 => dynamic.pie = value & elf::DF_1_PIE.0 != 0,
            _ => {}
        }
    }
    let strings = headers.place_of(address);
    let string = |at: u64| {
        let place = strings.ok_or(ElfError::Invalid(STRINGS))?;
        let rest = place.len.min(len).saturating_sub(at).min(MAX_STRING);
        let bytes = data.read_bytes_at(place.offset.saturating_add(at), rest);
        let bytes = bytes.map_err(|()| ElfError::Invalid(STRINGS))?;
        let end = bytes.iter().position(|byte| *byte == 0);
        let end = end.ok_or(ElfError::Invalid(STRINGS))?;
        Ok(bytes[..end].to_vec())
    };
    let needed = needed.into_iter().map(string).collect::<Result<_, _>>()?;
    Ok(Dynamic {
        needed,
        rpath: rpath.map(string).transpose()?,
        runpath: runpath.map(string).transpose()?,
        ..dynamic
    })
}

/// Returns the entries before `DT_NULL`.
fn entries<D: Dyn<Endian = Endianness>>(
    data: &ReadCache<Input>,
    place: Place,
    endian: Endianness,
) -> Result<Vec<(i64, u64)>, ElfError> {
    let count = usize::try_from(place.len).unwrap_or(usize::MAX) / size_of::<D>();
    let entries = data.read_slice_at::<D>(place.offset, count);
    let entries = entries.map_err(|()| ElfError::Invalid(DYNAMIC))?;
    let plain = entries.iter().map(|d| (d.tag(endian).0, d.val(endian)));
    Ok(plain
        .take_while(|(tag, _)| *tag != elf::DT_NULL.0)
        .collect())
}

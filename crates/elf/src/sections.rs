//! Dynamic symbols, and owners of notes.

use object::elf::{self, FileHeader64, SectionHeader32, SectionHeader64};
use object::read::elf::{NoteIterator, SectionHeader};
use object::{Endianness, pod};

use crate::error::ElfError;
use crate::file::Elf;
use crate::header::Place;
use crate::ident::Class;
use crate::source::Source;
use crate::symbols::Symbols;

const SECTIONS: &str = "section header table";
const NOTES: &str = "notes";
const SYMBOLS: &str = "symbol table";

/// Bytes to read of each `PT_NOTE` segment; real ones have a few hundred.
const MAX_NOTES: u64 = 4096;

struct Section {
    kind: elf::SectionType,
    /// For a symbol table, the index of its string table (`sh_link`).
    link: u32,
    place: Place,
}

impl<S: Source> Elf<S> {
    /// Whether the file exports the symbol.
    ///
    /// # Errors
    /// The tables are missing or invalid.
    pub fn defines(&self, name: &str) -> Result<bool, ElfError> {
        Ok(self.symbols()?.defines(name))
    }

    /// Returns the name of the first wanted symbol that the file needs but doesn't define.
    ///
    /// # Errors
    /// The tables are missing or invalid.
    pub fn refers_to(
        &self,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<u8>>, ElfError> {
        let found = self.symbols()?.refers_to(is_wanted);
        Ok(found.map(<[u8]>::to_vec))
    }

    /// Whether the file has a note with this owner (`PT_NOTE`). Stripping keeps notes.
    ///
    /// # Errors
    /// The notes cannot be read.
    pub fn has_note(&self, owner: &[u8]) -> Result<bool, ElfError> {
        for place in &self.headers.notes {
            let bytes = self
                .reader
                .up_to(place.offset, place.len.min(MAX_NOTES), NOTES)?;
            // Notes are the same in both classes.
            let notes =
                NoteIterator::<FileHeader64<Endianness>>::new(self.headers.ident.endian, 4, &bytes);
            let mut notes = notes.into_iter().flatten().flatten();
            // `name()` drops trailing zeros: Go counts the padding as a part of the name.
            if notes.any(|note| note.name() == owner) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the dynamic symbols; none in a file without a dynamic section.
    fn symbols(&self) -> Result<&Symbols, ElfError> {
        if let Some(symbols) = self.symbols.get() {
            return Ok(symbols);
        }
        let sections = self.sections()?;
        let table = sections.iter().find(|it| it.kind == elf::SHT_DYNSYM);
        let symbols = match table {
            None if self.dynamic().is_some_and(|it| it.has_symbols) => {
                return Err(ElfError::Invalid(SECTIONS));
            }
            None => Symbols::default(),
            Some(Section { place, link, .. }) => {
                let bytes = self.reader.bytes(place.offset, place.len, SYMBOLS)?;
                let strings = usize::try_from(*link).ok().and_then(|at| sections.get(at));
                let strings = strings.ok_or(ElfError::Invalid(SYMBOLS))?.place;
                let strings = self.reader.bytes(strings.offset, strings.len, SYMBOLS)?;
                Symbols::decode(&bytes, strings, self.headers.ident)
            }
        };
        Ok(self.symbols.get_or_init(|| symbols))
    }

    fn sections(&self) -> Result<Vec<Section>, ElfError> {
        match self.ident().class {
            Class::Elf32 => self.sections_of::<SectionHeader32<Endianness>>(),
            Class::Elf64 => self.sections_of::<SectionHeader64<Endianness>>(),
        }
    }

    fn sections_of<H>(&self) -> Result<Vec<Section>, ElfError>
    where
        H: SectionHeader<Endian = Endianness>,
    {
        let table = self.headers.sections;
        let count = usize::try_from(table.len).unwrap_or(0) / size_of::<H>();
        if table.offset == 0 || count == 0 {
            return Ok(Vec::new());
        }
        let bytes = self.reader.bytes(table.offset, table.len, SECTIONS)?;
        let (headers, _) = pod::slice_from_bytes::<H>(&bytes, count)
            .map_err(|_error| ElfError::Invalid(SECTIONS))?;
        let endian = self.headers.ident.endian;
        let section = |header: &H| Section {
            kind: header.sh_type(endian),
            link: header.sh_link(endian),
            place: Place {
                offset: header.sh_offset(endian).into(),
                len: header.sh_size(endian).into(),
            },
        };
        Ok(headers.iter().map(section).collect())
    }
}

//! Dynamic symbols, and owners of notes.

use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::ReadRef;
use object::read::elf::{FileHeader, NoteIterator, SectionHeader, Sym};

use crate::error::ElfError;
use crate::file::Elf;
use crate::ident::Class;

const SECTIONS: &str = "section header table";
const NOTES: &str = "notes";
const SYMBOLS: &str = "symbol table";

struct Symbol<'a> {
    /// The string table from the symbol's name on.
    names: &'a [u8],
    is_defined: bool,
    is_global: bool,
}

impl<'a> Symbol<'a> {
    fn is_named(&self, name: &str) -> bool {
        let rest = self.names.strip_prefix(name.as_bytes());
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    fn name(&self) -> &'a [u8] {
        self.names
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default()
    }
}

impl Elf {
    /// Whether the file exports the symbol.
    ///
    /// # Errors
    /// The tables are missing or invalid.
    pub fn defines(&self, name: &str) -> Result<bool, ElfError> {
        let is_it = |it: &Symbol<'_>| it.is_defined && it.is_global && it.is_named(name);
        Ok(self.find_symbol(is_it)?.is_some())
    }

    /// Returns the name of the first wanted symbol that the file needs but doesn't define.
    ///
    /// # Errors
    /// The tables are missing or invalid.
    pub fn refers_to(
        &self,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<u8>>, ElfError> {
        self.find_symbol(|it| !it.is_defined && is_wanted(it.name()))
    }

    /// Whether the file has a note with this owner (`PT_NOTE`). Stripping keeps notes.
    ///
    /// # Errors
    /// The notes cannot be read.
    pub fn has_note(&self, owner: &[u8]) -> Result<bool, ElfError> {
        for place in &self.headers.notes {
            let bytes = (&self.data).read_bytes_at(place.offset, place.len);
            let bytes = bytes.map_err(|()| ElfError::Invalid(NOTES))?;
            // Notes are the same in both classes.
            let notes =
                NoteIterator::<FileHeader64<Endianness>>::new(self.headers.ident.endian, 4, bytes);
            let mut notes = notes.into_iter().flatten().flatten();
            // `name()` drops trailing zeros: Go counts the padding as a part of the name.
            if notes.any(|note| note.name() == owner) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the name of the first dynamic symbol that fits.
    fn find_symbol(&self, fits: impl Fn(&Symbol<'_>) -> bool) -> Result<Option<Vec<u8>>, ElfError> {
        match self.ident().class {
            Class::Elf32 => self.find_symbol_of::<FileHeader32<Endianness>>(fits),
            Class::Elf64 => self.find_symbol_of::<FileHeader64<Endianness>>(fits),
        }
    }

    fn find_symbol_of<H: FileHeader<Endian = Endianness>>(
        &self,
        fits: impl Fn(&Symbol<'_>) -> bool,
    ) -> Result<Option<Vec<u8>>, ElfError> {
        let (data, endian) = (&self.data, self.headers.ident.endian);
        let sections = H::parse(data).and_then(|header| header.section_headers(endian, data));
        let sections = sections.map_err(|_error| ElfError::Invalid(SECTIONS))?;
        let is_table = |it: &&H::SectionHeader| it.sh_type(endian) == elf::SHT_DYNSYM;
        let Some(table) = sections.iter().find(is_table) else {
            return match self.dynamic().is_some_and(|it| it.has_symbols) {
                true => Err(ElfError::Invalid(SECTIONS)),
                false => Ok(None),
            };
        };
        let invalid = || ElfError::Invalid(SYMBOLS);
        let link = usize::try_from(table.sh_link(endian)).ok();
        let strings = link
            .and_then(|link| sections.get(link))
            .ok_or_else(invalid)?;
        let strings = strings.data(endian, data).map_err(|_error| invalid())?;
        let symbols = table.data_as_array::<H::Sym, _>(endian, data);
        let symbols = symbols.map_err(|_error| invalid())?.iter();
        let mut symbols = symbols.filter_map(|symbol| {
            let name = usize::try_from(symbol.st_name(endian)).ok()?;
            Some(Symbol {
                names: strings.get(name..)?,
                is_defined: symbol.st_shndx(endian) != elf::SHN_UNDEF,
                is_global: symbol.st_bind() != elf::STB_LOCAL,
            })
        });
        Ok(symbols.find(fits).map(|symbol| symbol.name().to_vec()))
    }
}

//! Sections and notes, by name.

use object::elf::{SectionHeader32, SectionHeader64};
use object::read::elf::SectionHeader;
use object::{Endianness, pod};

use crate::error::ElfError;
use crate::file::Elf;
use crate::header::Place;
use crate::ident::Class;
use crate::source::Source;

const SECTIONS: &str = "section header table";
const NAMES: &str = "section names";
const NOTES: &str = "notes";

/// Bytes to read of each `PT_NOTE` segment; real ones have a few hundred.
const MAX_NOTES: u64 = 4096;

impl<S: Source> Elf<S> {
    /// Whether the file has a section of this name. Always false without a section
    /// header table.
    ///
    /// # Errors
    ///
    /// When the table is invalid.
    pub fn has_section(&self, name: &[u8]) -> Result<bool, ElfError> {
        let sections = match self.headers.ident.class {
            Class::Elf32 => self.sections::<SectionHeader32<Endianness>>()?,
            Class::Elf64 => self.sections::<SectionHeader64<Endianness>>()?,
        };
        let Some((_, place)) = sections.get(usize::from(self.headers.section_names)) else {
            return Ok(false);
        };
        let names = self.reader.bytes(place.offset, place.len, NAMES)?;
        let is_it = |at: &u32| {
            let rest = usize::try_from(*at).ok().and_then(|at| names.get(at..));
            rest.and_then(|rest| rest.strip_prefix(name))
                .is_some_and(|rest| rest.first() == Some(&0))
        };
        Ok(sections.iter().any(|(at, _)| is_it(at)))
    }

    /// The offset of each section's name in the name table, and the section's place
    /// in the file.
    fn sections<H>(&self) -> Result<Vec<(u32, Place)>, ElfError>
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
        let endian = self.endian();
        let one = |header: &H| {
            let place = Place {
                offset: header.sh_offset(endian).into(),
                len: header.sh_size(endian).into(),
            };
            (header.sh_name(endian), place)
        };
        Ok(headers.iter().map(one).collect())
    }

    /// Whether the file has a note with this owner (`PT_NOTE`). Stripping keeps
    /// notes.
    ///
    /// # Errors
    /// When the notes cannot be read.
    pub fn has_note(&self, owner: &[u8]) -> Result<bool, ElfError> {
        for place in &self.headers.notes {
            let len = place.len.min(MAX_NOTES);
            let bytes = self.reader.up_to(place.offset, len, NOTES)?;
            if self.owners(&bytes).any(|name| name == owner) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The owners of notes. A note is three words (owner length, contents length,
    /// type), the zero-terminated owner and the contents, each padded to whole
    /// words.
    fn owners<'b>(&self, mut bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        const HEAD: usize = 12;
        let endian = self.endian();
        std::iter::from_fn(move || {
            let word = |at: usize| {
                let word = bytes.get(at..at + 4)?.try_into().ok()?;
                let word = match endian {
                    Endianness::Little => u32::from_le_bytes(word),
                    Endianness::Big => u32::from_be_bytes(word),
                };
                usize::try_from(word).ok()
            };
            let (owner, contents) = (word(0)?, word(4)?);
            let end = HEAD.checked_add(owner)?;
            let name = bytes.get(HEAD..end)?;
            let next = end.checked_next_multiple_of(4)?.checked_add(contents)?;
            bytes = bytes
                .get(next.checked_next_multiple_of(4)?..)
                .unwrap_or_default();
            // Go counts the padding in the length, too.
            name.split(|byte| *byte == 0).next()
        })
    }
}

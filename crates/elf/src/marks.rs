//! Notes, by name.

use object::Endianness;

use crate::error::ElfError;
use crate::file::Elf;
use crate::source::Source;

const NOTES: &str = "notes";

/// Bytes to read of each `PT_NOTE` segment; real ones have a few hundred.
const MAX_NOTES: u64 = 4096;

impl<S: Source> Elf<S> {
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

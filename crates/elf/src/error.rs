//! Errors of the parser.

use std::fmt;

/// Why a file could not be parsed. Messages are lower-case fragments that follow the file name.
#[derive(Debug)]
pub enum ElfError {
    /// The header doesn't begin as that of an ELF file of a known class.
    NotElf,
    /// This part is cut off, invalid or unreadable.
    Invalid(&'static str),
    /// The segment with this index in the program header table is invalid, for this reason.
    Segment(usize, &'static str),
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::NotElf => f.write_str("not an ELF file"),
            ElfError::Invalid(what) => write!(f, "its {what} is cut off or invalid"),
            ElfError::Segment(index, why) => write!(f, "its segment {index} {why}"),
        }
    }
}

impl std::error::Error for ElfError {}

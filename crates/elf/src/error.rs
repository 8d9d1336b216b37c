//! Errors of the parser.

use std::fmt;
use std::io;

/// Why a file could not be parsed. Messages are lower-case fragments that follow the file name.
#[derive(Debug)]
pub enum ElfError {
    /// The ELF magic is missing.
    NotElf,
    /// The file ends before the end of this part.
    Truncated(&'static str),
    /// This part has invalid values.
    Invalid(&'static str),
    /// This part exceeds our size limit.
    TooLarge(&'static str),
    /// The segment with this index in the program header table is invalid, for this reason.
    Segment(usize, &'static str),
    /// The read failed.
    Io(io::Error),
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::NotElf => f.write_str("not an ELF file"),
            ElfError::Truncated(what) => write!(f, "cut off in its {what}"),
            ElfError::Invalid(what) => write!(f, "its {what} makes no sense"),
            ElfError::TooLarge(what) => write!(f, "its {what} is too large"),
            ElfError::Segment(index, why) => write!(f, "its segment {index} {why}"),
            ElfError::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for ElfError {}

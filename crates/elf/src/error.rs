//! Why a file could not be understood.

use std::fmt;
use std::io;

/// Why a file could not be understood. Messages are lower-case fragments on
/// one line that follow the name of the file.
#[derive(Debug)]
pub enum ElfError {
    /// It does not begin as an ELF file does.
    NotElf,
    /// It ends before the part that is named.
    Truncated(&'static str),
    /// The part that is named makes no sense.
    Odd(&'static str),
    /// The part that is named is larger than any sensible file's.
    TooLarge(&'static str),
    /// A segment, by its index in the program header table, cannot be as it
    /// says, for the reason named.
    Segment(usize, &'static str),
    /// The operating system failed.
    Io(io::Error),
}

impl ElfError {
    /// A failed read of the part `what`.
    pub(crate) fn read(error: io::Error, what: &'static str) -> ElfError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => ElfError::Truncated(what),
            _ => ElfError::Io(error),
        }
    }
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::NotElf => f.write_str("not an ELF file"),
            ElfError::Truncated(what) => write!(f, "cut off in its {what}"),
            ElfError::Odd(what) => write!(f, "its {what} makes no sense"),
            ElfError::TooLarge(what) => write!(f, "its {what} is too large"),
            ElfError::Segment(index, why) => write!(f, "its segment {index} {why}"),
            ElfError::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for ElfError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ElfError::Io(error) => Some(error),
            _ => None,
        }
    }
}

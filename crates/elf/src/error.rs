//! Why a file could not be understood.

use std::fmt;
use std::io;

/// Why a file could not be understood. Messages are lower-case fragments on
/// one line that follow the name of the file.
#[derive(Debug)]
pub enum Error {
    /// It does not begin as an ELF file does.
    NotElf,
    /// It ends before the part that is named.
    Truncated(&'static str),
    /// The part that is named makes no sense.
    Odd(&'static str),
    /// The part that is named is larger than any sensible file's.
    TooLarge(&'static str),
    /// The operating system failed.
    Io(io::Error),
}

impl Error {
    /// A failed read of the part `what`.
    pub(crate) fn read(error: io::Error, what: &'static str) -> Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Truncated(what),
            _ => Error::Io(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotElf => f.write_str("not an ELF file"),
            Error::Truncated(what) => write!(f, "cut off in its {what}"),
            Error::Odd(what) => write!(f, "its {what} makes no sense"),
            Error::TooLarge(what) => write!(f, "its {what} is too large"),
            Error::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => Some(error),
            _ => None,
        }
    }
}

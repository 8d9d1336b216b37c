//! Files that the user names.

pub(crate) mod access;
pub(crate) mod accounts;
pub(crate) mod places;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_elf::Elf;

/// Opens a regular file for reading. A pipe would block.
///
/// # Errors
/// Those of `open(2)`; `InvalidInput` for another kind of file.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        )),
    }
}

/// Reads the headers of an ELF file, if it is one and readable.
pub(crate) fn open_elf(path: &Path) -> Option<Elf<File>> {
    let (file, _) = open_regular(path).ok()?;
    Elf::read(file).ok()
}

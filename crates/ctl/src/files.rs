//! Files that the user names.

pub(crate) mod places;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_elf::Elf;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};

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

/// Whether this process may use a file. A seccomp filter may refuse the question; then the answer is yes, and the
/// use itself shows.
pub(crate) fn may(path: &Path, how: AccessFlags) -> Result<(), Errno> {
    // eaccess(3) makes six system calls.
    match faccessat(AT_FDCWD, path, how, AtFlags::AT_EACCESS) {
        Err(Errno::EPERM | Errno::ENOSYS) => Ok(()),
        answer => answer,
    }
}

//! Opens and checks files that are not the kernel's.

pub(crate) mod places;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_elf::Elf;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};

/// Opens a regular file for reading, without blocking on a pipe.
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
pub(crate) fn open_elf(path: &Path) -> Option<Elf> {
    let (file, _) = open_regular(path).ok()?;
    Elf::read(file).ok()
}

/// Checks this process's rights to a file. Succeeds if a seccomp filter refuses the check: the
/// use itself will tell.
pub(crate) fn may(path: &Path, how: AccessFlags) -> Result<(), Errno> {
    // eaccess(3) makes six system calls.
    match faccessat(AT_FDCWD, path, how, AtFlags::AT_EACCESS) {
        Err(Errno::EPERM | Errno::ENOSYS) => Ok(()),
        answer => answer,
    }
}

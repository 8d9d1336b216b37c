//! Reads and changes a program's file in place.
//!
//! The inode, links, owner, mode and capabilities stay. Nothing is written before all
//! checks pass, and only the bytes between the first and the last changed field are
//! written. A concurrent reader sees old or new fields, and the program works either
//! way. The kernel refuses to start a file that is open for writing, and to open a
//! running one for writing (ETXTBSY).

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use hugetools_elf::{Edited, Patch, Table};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::attribute;
use crate::change::{self, Change};
use crate::failure::{Failure, describe};

/// The result of a change.
#[derive(Debug)]
pub struct Changed {
    /// The table before.
    pub before: Table,
    /// The table after the change, with roles and segments that it left out.
    pub edited: Edited,
    /// The requested alignment in bytes.
    pub align: Option<u64>,
    /// Privileges that the write removed and that couldn't be restored.
    pub lost: Vec<String>,
}

/// Reads the program header table of a file.
///
/// # Errors
///
/// When the file cannot be read, or is not a valid ELF file.
pub fn read(path: &Path) -> Result<Table, Failure> {
    let file = open(path, false)?;
    table(path, &file)
}

/// Changes the program header table of a file.
///
/// # Errors
///
/// When the change is refused or fails. The file is then unchanged unless the message
/// says otherwise.
pub fn change(path: &Path, change: &Change) -> Result<Changed, Failure> {
    let file = LockedFile::new(path, open(path, true)?)?;
    let before = table(path, file.get())?;
    let edit = change.edit(path, before.ident)?;
    let edited = before
        .edit(&edit)
        .map_err(|why| change::refused(path, &edit, &why))?;
    let lost = match before.patch(&edited.table) {
        None => Vec::new(),
        Some(patch) => write(path, file.get(), &patch)?,
    };
    Ok(Changed {
        before,
        edited,
        align: edit.align,
        lost,
    })
}

fn table(path: &Path, file: &File) -> Result<Table, Failure> {
    let len = file.metadata().map_err(|error| failed(path, &error))?.len();
    Table::read(file, len).map_err(|why| Failure::of(path, why))
}

/// Opens a regular file. Checks the type first, since opening a FIFO can block and
/// opening a device can have side effects.
pub(crate) fn open(path: &Path, write: bool) -> Result<File, Failure> {
    let check = |kind: std::fs::Metadata| match kind.is_file() {
        true => Ok(()),
        false if kind.is_dir() => Err(Failure::of(path, "is a directory")),
        false => Err(Failure::of(path, "is not a regular file")),
    };
    let kind = std::fs::metadata(path).map_err(|error| failed(path, &error))?;
    check(kind)?;
    let file = OpenOptions::new()
        .read(true)
        .write(write)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| open_failure(path, write, &error))?;
    check(file.metadata().map_err(|error| failed(path, &error))?)?;
    Ok(file)
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::of(path, describe(error))
}

fn open_failure(path: &Path, write: bool, error: &io::Error) -> Failure {
    let why = describe(error);
    let failure = match write {
        true => Failure::of(path, format_args!("cannot be opened for writing: {why}")),
        false => Failure::of(path, format_args!("cannot be opened: {why}")),
    };
    match error.raw_os_error() {
        Some(libc::ETXTBSY) => failure.next(
            "a process is running it: stop the process, or change a copy and rename the copy over the file",
        ),
        Some(libc::EACCES | libc::EPERM | libc::EROFS) if write => {
            failure.next("hugeedit changes the file in place and needs permission to write it")
        }
        _ => failure,
    }
}

/// A file under an exclusive lock, or without one if the file system has no locks. The
/// lock keeps other hugetools from changing it.
enum LockedFile {
    Locked(Flock<File>),
    Free(File),
}

impl LockedFile {
    fn new(path: &Path, file: File) -> Result<LockedFile, Failure> {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(LockedFile::Locked(file)),
            Err((_, Errno::EWOULDBLOCK)) => Err(Failure::of(path, "is locked by another process")
                .next("try again when that process has ended")),
            Err((file, _)) => Ok(LockedFile::Free(file)),
        }
    }

    fn get(&self) -> &File {
        match self {
            LockedFile::Locked(file) => file,
            LockedFile::Free(file) => file,
        }
    }
}

/// Writes a patch. Returns the privileges that the file lost.
fn write(path: &Path, file: &File, patch: &Patch) -> Result<Vec<String>, Failure> {
    check_unsigned(path, file)?;
    let privileges = Privileges::of(file).map_err(|error| failed(path, &error))?;
    let written = put(file, patch.offset, &patch.new);
    let restored = match &written {
        Ok(()) => Ok(()),
        Err(_) => undo(file, patch),
    };
    let lost = privileges.restore(file);
    match (written, restored) {
        (Ok(()), _) => Ok(lost),
        (Err(error), Ok(())) => Err(Failure::of(
            path,
            format_args!("cannot be written: {}", describe(&error)),
        )
        .next("the file is unchanged")),
        (Err(error), Err(_)) => Err(Failure::of(
            path,
            format_args!("cannot be written: {}", describe(&error)),
        )
        .next("the old contents could not be restored: install the file again")),
    }
}

/// Refuses a signed file, because the kernel may not start it after a change.
fn check_unsigned(path: &Path, file: &File) -> Result<(), Failure> {
    match attribute::signature(file) {
        None => Ok(()),
        Some(name) => Err(Failure::of(
            path,
            format_args!("is signed ({name}): a change would break the signature"),
        )
        .next("change an unsigned copy, then sign the copy")),
    }
}

/// Writes bytes to disk and reads them back.
fn put(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, offset)?;
    file.sync_data()?;
    match holds(file, offset, bytes)? {
        true => Ok(()),
        false => Err(io::Error::other("reading back gives different bytes")),
    }
}

/// Restores the old bytes if a failed write changed them.
fn undo(file: &File, patch: &Patch) -> io::Result<()> {
    match holds(file, patch.offset, &patch.old) {
        Ok(true) => Ok(()),
        _ => put(file, patch.offset, &patch.old),
    }
}

fn holds(file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    let mut there = vec![0; bytes.len()];
    file.read_exact_at(&mut there, offset)?;
    Ok(there == bytes)
}

/// Privileges that a write removes: capabilities, and the set-user-ID and set-group-ID
/// bits unless root writes.
struct Privileges {
    mode: u32,
    capabilities: Option<Vec<u8>>,
}

impl Privileges {
    fn of(file: &File) -> io::Result<Privileges> {
        Ok(Privileges {
            mode: file.metadata()?.mode() & 0o7777,
            capabilities: attribute::capabilities(file),
        })
    }

    /// Restores the privileges. Returns those that couldn't be restored.
    fn restore(self, file: &File) -> Vec<String> {
        let mut lost = Vec::new();
        let mode = |file: &File| Ok(file.metadata()?.mode() & 0o7777);
        let same = mode(file).and_then(|now: u32| match now == self.mode {
            true => Ok(()),
            false => file.set_permissions(Permissions::from_mode(self.mode)),
        });
        if let Err(error) = same {
            let (mode, why) = (self.mode, describe(&error));
            lost.push(format!("cannot restore its mode {mode:04o}: {why}"));
        }
        if let Some(value) = self.capabilities {
            let restored = match attribute::capabilities(file).as_ref() == Some(&value) {
                true => Ok(()),
                false => attribute::set_capabilities(file, &value),
            };
            if let Err(error) = restored {
                lost.push(format!(
                    "cannot restore its capabilities: {}",
                    describe(&error)
                ));
            }
        }
        lost
    }
}

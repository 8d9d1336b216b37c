//! A program's file, read and changed in place.
//!
//! It stays the same file: inode, links, owner, mode and capabilities. Nothing
//! is written before all of it was checked, and then only the bytes between
//! the first field and the last that change. Whoever reads meanwhile sees
//! fields old or new, and a program that works either way; nobody can start
//! it meanwhile (`ETXTBSY`), as nobody can change it while it runs.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use hugetools_elf::{Edited, Patch, Table};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::attribute;
use crate::change::{self, Change};
use crate::failure::{Failure, told};

/// A change that was made.
#[derive(Debug)]
pub struct Changed {
    /// The table before.
    pub before: Table,
    /// The table now, and what of the request it leaves open.
    pub edited: Edited,
    /// The alignment that was asked for, in bytes.
    pub align: Option<u64>,
    /// What the file lost by being written.
    pub lost: Vec<String>,
}

/// Reads the program header table of a file.
///
/// # Errors
/// When it cannot be read, or is no ELF file that could be loaded.
pub fn read(path: &Path) -> Result<Table, Failure> {
    let file = open(path, false)?;
    table(path, &file)
}

/// Changes the program header table of a file.
///
/// # Errors
/// When it cannot be changed, or the change would be wrong; then it is as it
/// was, unless the text says otherwise.
pub fn change(path: &Path, change: &Change) -> Result<Changed, Failure> {
    let file = Held::new(path, open(path, true)?)?;
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

/// Opens a regular file: nothing waits for a pipe or wakes a device.
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
        .map_err(|error| unopened(path, write, &error))?;
    check(file.metadata().map_err(|error| failed(path, &error))?)?;
    Ok(file)
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::of(path, told(error))
}

fn unopened(path: &Path, write: bool, error: &io::Error) -> Failure {
    let why = told(error);
    let failure = match write {
        true => Failure::of(path, format_args!("cannot be opened for writing: {why}")),
        false => Failure::of(path, format_args!("cannot be opened: {why}")),
    };
    match error.raw_os_error() {
        Some(libc::ETXTBSY) => failure.next(
            "a process runs it: stop that first, or change a copy and rename the copy over it",
        ),
        Some(libc::EACCES | libc::EPERM | libc::EROFS) if write => {
            failure.next("the file itself is changed: that takes leave to write it")
        }
        _ => failure,
    }
}

/// A file that no other of these tools changes meanwhile, where the file
/// system knows locks.
enum Held {
    Locked(Flock<File>),
    Free(File),
}

impl Held {
    fn new(path: &Path, file: File) -> Result<Held, Failure> {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Held::Locked(file)),
            Err((_, Errno::EWOULDBLOCK)) => Err(Failure::of(path, "is locked by another process")
                .next("wait until that has ended, and try again")),
            Err((file, _)) => Ok(Held::Free(file)),
        }
    }

    fn get(&self) -> &File {
        match self {
            Held::Locked(file) => file,
            Held::Free(file) => file,
        }
    }
}

/// Writes a patch. Returns what the file lost by it.
fn write(path: &Path, file: &File, patch: &Patch) -> Result<Vec<String>, Failure> {
    unsigned(path, file)?;
    let privileges = Privileges::of(file).map_err(|error| failed(path, &error))?;
    let written = put(file, patch.offset, &patch.new);
    let undone = match &written {
        Ok(()) => Ok(()),
        Err(_) => undo(file, patch),
    };
    let lost = privileges.restore(file);
    match (written, undone) {
        (Ok(()), _) => Ok(lost),
        (Err(error), Ok(())) => Err(Failure::of(
            path,
            format_args!("cannot be written: {}", told(&error)),
        )
        .next("it is as it was")),
        (Err(error), Err(_)) => Err(Failure::of(
            path,
            format_args!("cannot be written: {}", told(&error)),
        )
        .next("nor could it be put back: take it from where it came from")),
    }
}

/// A file whose contents are signed would no longer start where signatures are
/// asked for.
fn unsigned(path: &Path, file: &File) -> Result<(), Failure> {
    match attribute::signature(file) {
        None => Ok(()),
        Some(name) => Err(Failure::of(
            path,
            format_args!("is signed ({name}), and a change would break the signature"),
        )
        .next("change a copy, which is not signed, and sign that")),
    }
}

/// Writes bytes, to the disk, and reads them back.
fn put(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, offset)?;
    file.sync_data()?;
    match holds(file, offset, bytes)? {
        true => Ok(()),
        false => Err(io::Error::other("it reads back otherwise")),
    }
}

/// Puts back what was there, where a write that failed has changed it.
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

/// What the kernel takes from a file that is written: the set-user-ID and
/// set-group-ID bits, unless root writes, and capabilities.
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

    /// Gives back what was taken. Returns what could not be given.
    fn restore(self, file: &File) -> Vec<String> {
        let mut lost = Vec::new();
        let mode = |file: &File| Ok(file.metadata()?.mode() & 0o7777);
        let same = mode(file).and_then(|now: u32| match now == self.mode {
            true => Ok(()),
            false => file.set_permissions(Permissions::from_mode(self.mode)),
        });
        if let Err(error) = same {
            let (mode, why) = (self.mode, told(&error));
            lost.push(format!("its mode was {mode:04o} and is not now: {why}"));
        }
        if let Some(value) = self.capabilities {
            let back = match attribute::capabilities(file).as_ref() == Some(&value) {
                true => Ok(()),
                false => attribute::set_capabilities(file, &value),
            };
            if let Err(error) = back {
                lost.push(format!("it lost its capabilities: {}", told(&error)));
            }
        }
        lost
    }
}

//! Reads an ELF file's program header table, and changes it in place.
//!
//! The inode, links, owner and mode stay. After all checks pass, one write changes the bytes
//! from the first to the last changed field. A concurrent reader sees each field old or new,
//! and the program works either way. The kernel returns `ETXTBSY` for an execve of a file
//! that is open for writing, and for opening a running program's file for writing.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use hugetools_elf::{Edited, Patch, Table};
use hugetools_model::root::error::describe;

use crate::capabilities;
use crate::change::{self, Change};
use crate::failure::Failure;

/// The result of a change.
#[derive(Debug)]
pub struct Changed {
    /// The table before.
    pub before: Table,
    /// The table after the change, and the segments that could not be changed.
    pub edited: Edited,
    /// The requested alignment in bytes, if any.
    pub align: Option<u64>,
}

/// Reads the program header table of a file.
pub fn read(path: &Path) -> Result<Table, Failure> {
    let file = open(path, false)?;
    table(path, &file)
}

/// Changes the program header table of a file.
pub fn change(path: &Path, change: &Change) -> Result<Changed, Failure> {
    let file = open(path, true)?;
    let before = table(path, &file)?;
    let edit = change.edit(path, before.ident)?;
    let edited = before
        .edit(&edit)
        .map_err(|why| change::refused(path, &edit, &why))?;
    if let Some(patch) = before.patch(&edited.table) {
        write(path, &file, &patch)?;
    }
    Ok(Changed {
        before,
        edited,
        align: edit.align,
    })
}

fn table(path: &Path, file: &File) -> Result<Table, Failure> {
    let file = file.try_clone().map_err(|error| failure(path, &error))?;
    Table::read(file).map_err(|why| Failure::of(path, why))
}

/// Opens a regular file. Checks the type first, since opening a FIFO can block and
/// opening a device can have side effects.
pub(crate) fn open(path: &Path, write: bool) -> Result<File, Failure> {
    let kind = std::fs::metadata(path).map_err(|error| failure(path, &error))?;
    if kind.is_dir() {
        return Err(Failure::of(path, "is a directory"));
    }
    if !kind.is_file() {
        return Err(Failure::of(path, "is not a regular file"));
    }
    let file = OpenOptions::new().read(true).write(write).open(path);
    file.map_err(|error| open_failure(path, write, &error))
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::of(path, describe(error))
}

fn open_failure(path: &Path, write: bool, error: &io::Error) -> Failure {
    let what = match write {
        true => "cannot be opened for writing",
        false => "cannot be opened",
    };
    let failure = Failure::io(path, what, error);
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

/// Refuses a file with a set-ID bit or capabilities, which a write would remove. The library
/// ignores the marks of such programs anyway.
fn check_file_has_no_privileges(path: &Path, file: &File) -> Result<(), Failure> {
    let mode = file
        .metadata()
        .map_err(|error| failure(path, &error))?
        .mode();
    if mode & 0o6000 != 0 || capabilities::has_capabilities(file) {
        let what = "has a set-ID bit or capabilities: a change would remove them";
        return Err(
            Failure::of(path, what).next("change a copy without them, then give them to the copy")
        );
    }
    Ok(())
}

fn write(path: &Path, file: &File, patch: &Patch) -> Result<(), Failure> {
    check_file_has_no_privileges(path, file)?;
    let written = file.write_all_at(&patch.new, patch.offset);
    let written = written.and_then(|()| file.sync_data());
    written.map_err(|error| Failure::io(path, "cannot be written", &error))
}

//! Getting the shared copy, and making it where there is none.
#![expect(unsafe_code, reason = "maps the file to fill it")]

use super::name::{Names, Part};
use super::shelf::Shelf;
use crate::segment::pool_file::View;
use crate::segment::why::Why;
use crate::sys::{self, Errno, File, Version};

/// So long, in milliseconds, another process may take to make the copy; then we
/// make one of our own.
const PATIENCE: u64 = 1000;

/// Milliseconds between two looks.
const PAUSE: u64 = 5;

/// The program that runs.
pub(super) struct Program<'a> {
    file: File,
    version: Version,
    path: &'a [u8],
}

impl Program<'_> {
    /// What is known of the program in this file, of this path.
    pub(super) fn of(file: File, path: &[u8]) -> Option<Program<'_>> {
        Some(Program {
            version: file.version()?,
            file,
            path,
        })
    }
}

/// The shared copy, open to be mapped.
///
/// # Errors
/// When it can neither be had nor made.
pub(super) fn get(shelf: &Shelf, program: &Program<'_>, part: &Part) -> Result<File, Why> {
    let names = Names::of(program.path, &program.version, part).ok_or(Why::OtherFile)?;
    let end = sys::now() + PATIENCE;
    loop {
        if let Some(file) = find(shelf, &names, part) {
            return Ok(file);
        }
        if let Some(file) = make(shelf, &names, program, part)? {
            return Ok(file);
        }
        if sys::now() >= end {
            return Err(Why::Busy);
        }
        sys::sleep(PAUSE);
    }
}

/// The complete copy, if there is one. It is this user's own, since nobody else
/// can make files there.
fn find(shelf: &Shelf, names: &Names, part: &Part) -> Option<File> {
    let file = shelf
        .dir
        .file(names.finished.c_str(), libc::O_RDONLY)
        .ok()?;
    let is_whole = file.size() == Some(part.len);
    (is_whole && file.owner() == Some(sys::geteuid())).then_some(file)
}

/// Makes the copy; `None` while another process does.
fn make(
    shelf: &Shelf,
    names: &Names,
    program: &Program<'_>,
    part: &Part,
) -> Result<Option<File>, Why> {
    let unfinished = names.unfinished.c_str();
    let file = shelf.dir.file(unfinished, libc::O_RDWR | libc::O_CREAT);
    let file = file.map_err(|_| Why::NoShelf)?;
    if file.try_lock().is_err() || !is_still(shelf, names, &file) {
        return Ok(None);
    }
    let filled = fill(&file, shelf.page_size(), program, part);
    let named = filled.and_then(|()| {
        let renamed = shelf.dir.rename(unfinished, names.finished.c_str());
        renamed.map_err(|_| Why::NoShelf)
    });
    match named {
        Ok(()) => shelf.dir.each(|name| {
            if names.is_outdated(name) {
                let _ = shelf.dir.unlink(name);
            }
        }),
        Err(why) => {
            let _ = shelf.dir.unlink(unfinished);
            return Err(why);
        }
    }
    Ok(Some(file))
}

/// Whether the name still is that of the file that we have locked: its maker
/// may have completed and renamed it meanwhile.
fn is_still(shelf: &Shelf, names: &Names, file: &File) -> bool {
    let inode = |file: &File| file.version().map(|version| version.inode);
    let found = shelf.dir.file(names.unfinished.c_str(), libc::O_RDONLY);
    found.is_ok_and(|found| inode(&found) == inode(file))
}

/// Fills the file from the program's, from the beginning: another process may
/// have been killed while it did.
fn fill(file: &File, size: usize, program: &Program<'_>, part: &Part) -> Result<(), Why> {
    let no_page = |_: Errno| Why::PoolEmpty;
    file.set_len(0).map_err(no_page)?;
    file.set_len(part.len).map_err(no_page)?;
    let view = View::of(file, part.len).map_err(no_page)?;
    if view.fill(size, |_, _| {}) < part.len {
        return Err(Why::PoolEmpty);
    }
    // SAFETY: mapped so long, writable, and nobody else's.
    let bytes = unsafe { core::slice::from_raw_parts_mut(view.addr as *mut u8, part.len) };
    let mut done = 0;
    while done < part.len {
        match program.file.read_at(&mut bytes[done..], part.offset + done) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(_) => return Err(Why::OtherFile),
        }
    }
    Ok(())
}

//! Opens the shared copy, or makes it.
#![expect(unsafe_code, reason = "maps the file to fill it")]

use super::name::{Names, Part};
use super::share_dir::ShareDir;
use crate::segment::pool_file::View;
use crate::segment::reason::Reason;
use crate::sys::{self, Errno, File, FileVersion};

/// How long (ms) to wait for another process that makes the copy.
const TIMEOUT: u64 = 1000;

/// Pause (ms) between tries.
const PAUSE: u64 = 5;

/// The running program.
pub(super) struct Program<'a> {
    file: File,
    version: FileVersion,
    path: &'a [u8],
}

impl Program<'_> {
    /// Describes the program in this file.
    pub(super) fn of(file: File, path: &[u8]) -> Option<Program<'_>> {
        Some(Program {
            version: file.version()?,
            file,
            path,
        })
    }
}

/// Opens the shared copy; makes it if necessary.
pub(super) fn get(
    share_dir: &ShareDir,
    program: &Program<'_>,
    part: &Part,
) -> Result<File, Reason> {
    let names = Names::of(program.path, &program.version, part).ok_or(Reason::OtherFile)?;
    let end = sys::now() + TIMEOUT;
    loop {
        if let Some(file) = find(share_dir, &names, part) {
            return Ok(file);
        }
        if let Some(file) = make(share_dir, &names, program, part)? {
            return Ok(file);
        }
        if sys::now() >= end {
            return Err(Reason::Busy);
        }
        sys::sleep(PAUSE);
    }
}

/// Opens the complete copy, if this user owns it.
fn find(share_dir: &ShareDir, names: &Names, part: &Part) -> Option<File> {
    let file = share_dir
        .dir
        .open_file(names.finished.c_str(), libc::O_RDONLY)
        .ok()?;
    let is_whole = file.size() == Some(part.len);
    (is_whole && file.owner() == Some(sys::geteuid())).then_some(file)
}

/// Makes the copy; `None` if another process is making it.
fn make(
    share_dir: &ShareDir,
    names: &Names,
    program: &Program<'_>,
    part: &Part,
) -> Result<Option<File>, Reason> {
    let unfinished = names.unfinished.c_str();
    let file = share_dir
        .dir
        .open_file(unfinished, libc::O_RDWR | libc::O_CREAT);
    let file = file.map_err(|_| Reason::NoShareDir)?;
    if file.try_lock().is_err() || !still_has_name(share_dir, names, &file) {
        return Ok(None);
    }
    let filled = fill(&file, share_dir.page_size(), program, part);
    let named = filled.and_then(|()| {
        let renamed = share_dir.dir.rename(unfinished, names.finished.c_str());
        renamed.map_err(|_| Reason::NoShareDir)
    });
    match named {
        Ok(()) => share_dir.dir.for_each_name(|name| {
            if names.is_outdated(name) {
                let _ = share_dir.dir.unlink(name);
            }
        }),
        Err(why) => {
            let _ = share_dir.dir.unlink(unfinished);
            return Err(why);
        }
    }
    Ok(Some(file))
}

/// Whether the name still belongs to the locked file: its maker may have renamed it.
fn still_has_name(share_dir: &ShareDir, names: &Names, file: &File) -> bool {
    let inode = |file: &File| file.version().map(|version| version.inode);
    let found = share_dir
        .dir
        .open_file(names.unfinished.c_str(), libc::O_RDONLY);
    found.is_ok_and(|found| inode(&found) == inode(file))
}

/// Fills the file from the start: an earlier maker may have been killed.
fn fill(file: &File, size: usize, program: &Program<'_>, part: &Part) -> Result<(), Reason> {
    let no_page = |_: Errno| Reason::POOL_EMPTY;
    file.set_len(0).map_err(no_page)?;
    file.set_len(part.len).map_err(no_page)?;
    let view = View::of(file, part.len).map_err(no_page)?;
    if view.fill(size, |_, _| {}) < part.len {
        return Err(Reason::POOL_EMPTY);
    }
    // SAFETY: mapped with this length, writable, and nobody else uses it.
    let bytes = unsafe { core::slice::from_raw_parts_mut(view.addr as *mut u8, part.len) };
    let mut done = 0;
    while done < part.len {
        match program.file.read_at(&mut bytes[done..], part.offset + done) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(_) => return Err(Reason::OtherFile),
        }
    }
    Ok(())
}

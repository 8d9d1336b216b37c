//! The file with the note about unfinished work.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hugetools_model::Root;

use crate::step::unfinished::Unfinished;

/// Cleared at boot, like pools and swap.
const DIR: &str = "/run/hugetools";
const FILE: &str = "hugeadm.unfinished";

/// On a recorded tree, in which no directories are created.
const IN_TREE: &str = "/.hugeadm.unfinished";

pub(super) fn read(root: &Root) -> io::Result<Unfinished> {
    let mut text = String::new();
    match OpenOptions::new().read(true).open(path(root)?) {
        Ok(mut file) => file.read_to_string(&mut text)?,
        // A user who may not read the note may not change anything either.
        Err(error) if is_none(&error) || error.kind() == io::ErrorKind::PermissionDenied => 0,
        Err(error) => return Err(error),
    };
    Ok(Unfinished::parse(&text))
}

/// Replaces the note by rename, so that it is always complete.
pub(super) fn write(root: &Root, unfinished: &Unfinished) -> io::Result<()> {
    let file = path(root)?;
    let next = file.with_extension("new");
    if unfinished.is_empty() {
        return remove(&next).and_then(|()| remove(&file));
    }
    if root.is_live() {
        fs::create_dir_all(DIR)?;
    }
    let mut new = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&next)?;
    new.write_all(unfinished.format().as_bytes())?;
    fs::rename(next, file)
}

fn path(root: &Root) -> io::Result<PathBuf> {
    match root.is_live() {
        true => Ok(Path::new(DIR).join(FILE)),
        false => root.checked_path(IN_TREE),
    }
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if is_none(&error) => Ok(()),
        result => result,
    }
}

fn is_none(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

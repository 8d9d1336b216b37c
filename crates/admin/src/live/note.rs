//! The file in which a run notes what must not stay unfinished.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_model::Root;

use crate::unfinished::Unfinished;

/// Gone after a boot, as pools and swap are.
const DIR: &str = "/run/hugetools";
const FILE: &str = "hugeadm.unfinished";

/// The next note, until it is whole.
const NEXT: &str = "hugeadm.unfinished.new";

pub(super) fn read(root: &Root) -> io::Result<Unfinished> {
    let path = root.checked_path(Path::new(DIR).join(FILE))?;
    let mut text = String::new();
    match OpenOptions::new().read(true).open(path) {
        Ok(mut file) => file.read_to_string(&mut text)?,
        // Who may not look may not change anything either.
        Err(error) if is_none(&error) || error.kind() == io::ErrorKind::PermissionDenied => 0,
        Err(error) => return Err(error),
    };
    Ok(Unfinished::parse(&text))
}

pub(super) fn write(root: &Root, unfinished: &Unfinished) -> io::Result<()> {
    let dir = root.checked_path(DIR)?;
    let (file, next) = (dir.join(FILE), dir.join(NEXT));
    if unfinished.is_empty() {
        return remove(root, &dir, &[file, next]);
    }
    fs::create_dir_all(&dir)?;
    let mut new = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&next)?;
    new.write_all(unfinished.format().as_bytes())?;
    fs::rename(next, file)
}

/// A recorded tree is left without the directories, too, if nothing else is
/// in them.
fn remove(root: &Root, dir: &Path, files: &[std::path::PathBuf]) -> io::Result<()> {
    let mut removed = false;
    for file in files {
        match fs::remove_file(file) {
            Ok(()) => removed = true,
            Err(error) if is_none(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if removed && !root.is_live() {
        for dir in dir.ancestors().take(2) {
            let _ = fs::remove_dir(dir);
        }
    }
    Ok(())
}

fn is_none(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

//! Writes the embedded library to disk, for the loader.
//!
//! An existing file is used if no other user can write to it and its contents equal the embedded
//! ones. The comparison is skipped if the file is unchanged since the last one. A new file appears
//! by link or rename, so that no process loads half of it.

mod compared;

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::mkstemp;

use super::private_dir;
use crate::files::places::Place;
use crate::probe::bundle::{Bundle, first};
use crate::sys;

/// Writes the file `name`, if necessary, and returns its path.
pub(super) fn place(
    places: &[Place],
    bundle: &Bundle<'_>,
    name: &str,
    user: u32,
) -> Result<PathBuf, String> {
    let contents = bundle.contents(name);
    first(places, |place| {
        place_at(place, bundle.digest, name, contents, user)
    })
}

fn place_at(
    place: &Place,
    digest: &str,
    name: &str,
    contents: &[u8],
    user: u32,
) -> io::Result<PathBuf> {
    let dir = private_dir::open(place, digest, user)?;
    let path = dir.join(name);
    if is_right(&path, contents, user)? {
        return Ok(path);
    }
    write(&dir, name, contents, user)?;
    match is_right(&path, contents, user)? {
        true => Ok(path),
        false => Err(io::Error::other(
            "it differs from the library inside hugectl",
        )),
    }
}

/// Whether owner, mode and contents are right.
fn is_right(path: &Path, contents: &[u8], user: u32) -> io::Result<bool> {
    let Some((file, metadata)) = open_checked(path, contents.len(), user) else {
        return Ok(false);
    };
    if compared::is_noted(path, &metadata) {
        return Ok(true);
    }
    let same = sys::maps_as(&file, contents)?;
    if same {
        compared::note(path, &metadata);
    }
    Ok(same)
}

/// Opens the file if owner, mode and length are right.
fn open_checked(path: &Path, len: usize, user: u32) -> Option<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.read(true).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let right = metadata.is_file()
        && metadata.uid() == user
        && metadata.mode() & 0o7777 == 0o644
        && metadata.len() == len as u64;
    right.then_some((file, metadata))
}

fn write(dir: &Path, name: &str, contents: &[u8], user: u32) -> io::Result<()> {
    // A PID is no unique name: several containers may share the directory.
    let (file, draft) = mkstemp(&dir.join(format!(".{name}.XXXXXX")))?;
    let mut file = File::from(file);
    let written = file
        .write_all(contents)
        .and_then(|()| file.set_permissions(Permissions::from_mode(0o644)))
        .and_then(|()| publish(&draft, &dir.join(name), contents, user));
    // After a rename the draft is gone; for other errors there is no remedy.
    let _ = fs::remove_file(&draft);
    written
}

/// Moves a draft to its final name. Keeps a correct file of a concurrent start: processes may have
/// mapped it, and `/proc/PID/maps` would list it as deleted.
fn publish(draft: &Path, path: &Path, contents: &[u8], user: u32) -> io::Result<()> {
    if fs::hard_link(draft, path).is_ok() || is_right(path, contents, user).is_ok_and(|right| right)
    {
        return Ok(());
    }
    // The existing file is wrong, or the file system has no hard links.
    fs::rename(draft, path)
}

#[cfg(test)]
mod tests;

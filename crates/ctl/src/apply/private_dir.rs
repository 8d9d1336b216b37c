//! Directories that no other user can write to.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::files::places::Place;

/// Returns the path of `name` below our directory. Creates both if necessary.
pub(super) fn open(place: &Place, name: &str, user: u32) -> io::Result<PathBuf> {
    if place.make && !place.base.exists() {
        DirBuilder::new().mode(0o700).create(&place.base)?;
    }
    place.check_base(user)?;
    let ours = place.dir();
    let dir = ours.join(name);
    make_dir(&ours, user)?;
    make_dir(&dir, user)?;
    Ok(dir)
}

/// Creates a directory that others can read, unless it exists, and checks it.
fn make_dir(dir: &Path, user: u32) -> io::Result<()> {
    let mut metadata = fs::symlink_metadata(dir);
    if metadata.is_err() {
        match DirBuilder::new().mode(0o755).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => metadata = fs::symlink_metadata(dir),
        }
    }
    let metadata = metadata?;
    let obstacle = match (metadata.is_dir(), metadata.uid() == user) {
        (false, _) => Some("it is not a directory"),
        (true, false) => Some("it belongs to another user"),
        (true, true) => (metadata.mode() & 0o022 != 0).then_some("other users can write to it"),
    };
    if let Some(why) = obstacle {
        return Err(io::Error::other(why));
    }
    // The umask may have removed permissions.
    match metadata.mode() & 0o755 == 0o755 {
        true => Ok(()),
        false => fs::set_permissions(dir, Permissions::from_mode(0o755)),
    }
}

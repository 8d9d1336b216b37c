//! The libraries inside hugectl. A start writes the one that it needs to `<place>/<digest>` in the
//! caller's first usable place.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_contract::env::HEAP_LIBRARY;
use nix::sys::statvfs::{FsFlags, statvfs};

use crate::files::places::Place;

/// The libraries inside hugectl.
#[derive(Debug, Clone, Copy)]
pub struct Bundle<'a> {
    /// Identifies the build; a file name.
    pub digest: &'a str,
    /// The library for segments and shared memory.
    pub preload: &'a [u8],
    /// The same library with a malloc.
    pub heap: &'a [u8],
}

impl<'a> Bundle<'a> {
    pub(crate) fn contents(&self, name: &str) -> &'a [u8] {
        match name {
            HEAP_LIBRARY => self.heap,
            _ => self.preload,
        }
    }
}

/// Whether `LD_PRELOAD` can carry the path: loaders split at blanks and colons, and replace
/// `$ORIGIN`.
pub(crate) fn ld_preload_can_carry(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let is_special = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b':' | b'$');
    !bytes.iter().any(is_special)
}

/// Returns the path that a start would give the file `name`. Writes nothing.
pub(crate) fn predict_path(
    places: &[Place],
    bundle: &Bundle<'_>,
    name: &str,
    user: u32,
) -> Result<PathBuf, String> {
    first(places, |place| {
        place.check_base(user)?;
        let flags = statvfs(&place.base)?.flags();
        match flags.intersects(FsFlags::ST_NOEXEC | FsFlags::ST_RDONLY) {
            false => Ok(place.dir().join(bundle.digest).join(name)),
            true => Err(io::Error::other("it is on a noexec or read-only mount")),
        }
    })
}

/// Returns the first path that `path_in` finds, or why each place failed.
pub(crate) fn first(
    places: &[Place],
    path_in: impl Fn(&Place) -> io::Result<PathBuf>,
) -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for place in places {
        let dir = place.dir();
        let attempt = match ld_preload_can_carry(&dir) {
            false => Err(io::Error::other("LD_PRELOAD cannot carry its name")),
            true => path_in(place),
        };
        match attempt {
            Ok(path) => return Ok(path),
            Err(error) => reasons.push(format!("{}: {error}", dir.display())),
        }
    }
    Err(match reasons.is_empty() {
        true => "there is no directory for it".to_owned(),
        false => reasons.join("; "),
    })
}

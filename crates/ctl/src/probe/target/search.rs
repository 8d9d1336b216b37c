//! The search of `execvp(3)`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The directories to search without `PATH`.
const WITHOUT_PATH: &str = "/bin:/usr/bin";

/// Whether a name is a path, which is not searched for.
pub(super) fn is_path(name: &OsStr) -> bool {
    name.as_bytes().contains(&b'/')
}

/// Returns the files that a name may mean, in order. An empty directory is the current one.
pub(super) fn candidates(name: &OsStr, path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let dirs = match is_path(name) {
        true => vec![PathBuf::new()],
        false => {
            let path = path.unwrap_or(OsStr::new(WITHOUT_PATH));
            let dirs = path.as_bytes().split(|byte| *byte == b':');
            dirs.map(|dir| match dir {
                b"" => PathBuf::from("."),
                dir => PathBuf::from(OsStr::from_bytes(dir)),
            })
            .collect()
        }
    };
    let name = Path::new(name).to_owned();
    dirs.into_iter().map(move |dir| dir.join(&name))
}

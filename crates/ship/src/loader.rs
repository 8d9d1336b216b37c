//! Whether the loader finds a library in some directory without being told.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// The file that tells glibc's loader of a prefix, from the root.
pub const CONF: &str = "/etc/ld.so.conf.d/hugetools.conf";

/// Whether there is a cache to make: glibc's loader has one, musl's has none.
pub fn has_cache() -> bool {
    Path::new("/etc/ld.so.conf.d").is_dir() && run::has("ldconfig")
}

/// Whether a directory is one of those that the cache is made from.
pub fn is_searched(dir: &Path) -> bool {
    // Nothing is written: -N and -X leave cache and links alone.
    let mut command = Command::new("ldconfig");
    let listed = run::done(command.args(["-v", "-N", "-X"])).unwrap_or_default();
    let real = std::fs::canonicalize(dir).unwrap_or_else(|_error| dir.to_owned());
    let dirs = listed
        .lines()
        .filter_map(|line| line.split_once(": (from "));
    let mut dirs = dirs.map(|(dir, _)| Path::new(dir));
    dirs.any(|listed| listed == dir || listed == real)
}

/// Makes the loader's cache anew.
///
/// # Errors
/// What `ldconfig` says.
pub fn refresh() -> Result<(), Failure> {
    run::done(&mut Command::new("ldconfig")).map(|_| ())
}

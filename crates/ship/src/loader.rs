//! glibc's loader: its search path and its cache.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// Whether the loader has a cache. glibc's has one, musl's does not.
pub fn has_cache() -> bool {
    Path::new("/etc/ld.so.conf.d").is_dir() && run::has("ldconfig")
}

/// Whether the loader's cache covers a directory.
pub fn is_searched(dir: &Path) -> bool {
    // -N and -X: don't write the cache or symlinks.
    let mut command = Command::new("ldconfig");
    let listed = run::output_of(command.args(["-v", "-N", "-X"])).unwrap_or_default();
    let real = std::fs::canonicalize(dir).unwrap_or_else(|_error| dir.to_owned());
    // `DIR: (from FILE:LINE)`, or only `DIR:` in glibc 2.31.
    let dirs = listed.lines().filter_map(|line| line.split_once(':'));
    let mut dirs = dirs.map(|(dir, _)| Path::new(dir));
    dirs.any(|listed| listed == dir || listed == real)
}

/// Rebuilds the loader's cache.
pub fn refresh() -> Result<(), Failure> {
    run::output_of(&mut Command::new("ldconfig")).map(|_| ())
}

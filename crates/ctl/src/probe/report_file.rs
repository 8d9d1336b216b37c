//! The file of `--report`: checked before the program starts, but not created yet.

use std::path::{Path, PathBuf};

use hugetools_model::root::error::describe_errno;
use nix::unistd::AccessFlags;

use crate::files;
use crate::say::failure::Failure;

/// Checks that a report's file can be written. Returns its absolute path. Settings for a container
/// or a service name no program: their file may lie in a file system that hugectl does not see.
pub(super) fn check(file: &Path, has_program: bool) -> Result<PathBuf, Failure> {
    let fail = |why: &str| {
        Failure::Own(format!(
            "--report={}: {why}\n  name a file in a directory that exists; without a name, \
             --report writes to standard error",
            file.display()
        ))
    };
    let path = std::path::absolute(file).map_err(|error| fail(&error.to_string()))?;
    if !has_program {
        return Ok(path);
    }
    if path.is_dir() {
        return Err(fail("it is a directory"));
    }
    let dir = path.parent().unwrap_or(Path::new("/"));
    let (checked, rights) = match path.exists() {
        true => (path.as_path(), AccessFlags::W_OK),
        false => (dir, AccessFlags::W_OK | AccessFlags::X_OK),
    };
    files::may(checked, rights).map_err(|errno| {
        let why = describe_errno(errno as i32);
        fail(&format!("cannot write to {}: {why}", checked.display()))
    })?;
    Ok(path)
}

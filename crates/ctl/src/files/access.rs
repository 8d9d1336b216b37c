//! Whether this process may use a file, asked of the kernel; where a filter of system calls
//! refuses the question, as good as can be told without.

use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, eaccess, faccessat};

/// Whether this process may use a file so. The kernel has the last word, by what is done
/// then, so that a filter keeps no program from its start.
///
/// # Errors
/// Why it may not.
pub(crate) fn may(path: &Path, how: AccessFlags) -> Result<(), Errno> {
    let Err(first) = eaccess(path, how) else {
        return Ok(());
    };
    // A C library asks by access(2), or, told no user, judges by the mode for somebody else.
    if !matches!(first, Errno::EACCES | Errno::EPERM | Errno::ENOSYS) {
        return Err(first);
    }
    match faccessat(AT_FDCWD, path, how, AtFlags::AT_EACCESS) {
        Ok(()) => Ok(()),
        Err(Errno::EPERM | Errno::ENOSYS) if first != Errno::EACCES => unasked(path, how),
        Err(_) => Err(first),
    }
}

/// The same without a call that asks it.
fn unasked(path: &Path, how: AccessFlags) -> Result<(), Errno> {
    const ANYBODY: u32 = 0o111;
    let about = path.metadata().map_err(|error| errno(&error))?;
    if how.contains(AccessFlags::X_OK) && about.mode() & ANYBODY == 0 {
        return Err(Errno::EACCES);
    }
    if how.contains(AccessFlags::W_OK) && about.is_file() {
        let mut open = OpenOptions::new();
        open.append(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        return open.open(path).map(drop).map_err(|error| errno(&error));
    }
    Ok(())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_not_asked_is_told_by_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let file = tempfile::NamedTempFile::new_in(dir.path()).unwrap();
        let (run, write) = (AccessFlags::X_OK, AccessFlags::W_OK);
        for ask in [may, unasked] {
            assert_eq!(ask(file.path(), run), Err(Errno::EACCES));
            assert_eq!(ask(file.path(), write), Ok(()));
            assert_eq!(ask(dir.path(), write | run), Ok(()));
            let none = dir.path().join("none");
            assert_eq!(ask(&none, run), Err(Errno::ENOENT));
        }
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(file.path(), mode).unwrap();
        assert_eq!(unasked(file.path(), run), Ok(()));
    }
}

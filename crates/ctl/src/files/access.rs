//! Whether this process may use a file.

use std::path::Path;

use nix::errno::Errno;
use nix::unistd::{AccessFlags, eaccess};

/// Asks the kernel. A seccomp filter may refuse the question; then the answer is yes, and the
/// use itself shows.
///
/// # Errors
/// Why it may not.
pub(crate) fn may(path: &Path, how: AccessFlags) -> Result<(), Errno> {
    match eaccess(path, how) {
        Err(Errno::EPERM | Errno::ENOSYS) => Ok(()),
        answer => answer,
    }
}

//! Lets only one hugeadm change the machine at a time, so that no other run invalidates its plan.
//!
//! Only root can open the lock file, so no other user can block hugeadm. On a recorded tree, the
//! tree itself is locked. The kernel releases the lock when the process ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_model::Root;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::files::make_dir;

const DIR: &str = "/run/hugetools";
const FILE: &str = "hugeadm.lock";

/// The held lock.
pub type HeldLock = Flock<File>;

/// Waits for the lock. Calls `waiting` if another process holds it. Returns `None` if the lock file
/// cannot be opened, because rights are missing or `/run` is read-only.
pub fn take(root: &Root, waiting: &mut dyn FnMut()) -> io::Result<Option<HeldLock>> {
    let Ok(file) = open(root) else {
        return Ok(None);
    };
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).or_else(|(file, errno)| {
        if errno == Errno::EWOULDBLOCK {
            waiting();
        }
        Flock::lock(file, FlockArg::LockExclusive)
    });
    lock.map(Some).map_err(|(_, errno)| errno.into())
}

fn open(root: &Root) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    if let Some(tree) = root.prefix() {
        return options.open(tree);
    }
    make_dir(Path::new(DIR))?;
    options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(Path::new(DIR).join(FILE))
}

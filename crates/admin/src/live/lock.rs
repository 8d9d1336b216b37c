//! Lets only one hugeadm change the machine at a time, so that no other run invalidates its plan.
//!
//! Only root can open the lock file, so no other user can block hugeadm. On a recorded tree, the
//! tree itself is locked. The kernel releases the lock when the process ends.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_model::Root;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::caught_signal;

const DIR: &str = "/run/hugetools";
const FILE: &str = "hugeadm.lock";

/// The held lock.
#[derive(Debug)]
pub struct HeldLock {
    _file: Flock<File>,
}

/// Waits for the lock. Calls `waiting` if another process holds it. Returns `None` if the lock file
/// cannot be opened: without the rights to change anything, or if `/run` is read-only. A signal
/// ends the wait with an error.
pub fn take(root: &Root, waiting: &mut dyn FnMut()) -> io::Result<Option<HeldLock>> {
    let Ok(mut file) = open(root) else {
        return Ok(None);
    };
    let mut how = FlockArg::LockExclusiveNonblock;
    loop {
        match Flock::lock(file, how) {
            Ok(lock) => return Ok(Some(HeldLock { _file: lock })),
            Err((busy, Errno::EWOULDBLOCK)) => {
                waiting();
                how = FlockArg::LockExclusive;
                file = busy;
            }
            Err((busy, Errno::EINTR)) if caught_signal().is_none() => file = busy,
            Err((_, errno)) => return Err(errno.into()),
        }
    }
}

fn open(root: &Root) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    if let Some(tree) = root.prefix() {
        return options.open(tree);
    }
    fs::create_dir_all(DIR)?;
    options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(Path::new(DIR).join(FILE))
}

//! Lets only one hugeadm change the machine at a time, so that no other run invalidates its plan.
//!
//! Only root can open the lock file, so no other user can block hugeadm. On a recorded tree, the
//! tree itself is locked. The kernel releases the lock when the process ends.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use hugetools_model::Root;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::caught_signal;

const DIR: &str = "/run/hugetools";
const FILE: &str = "hugeadm.lock";

/// Time between two attempts.
const PERIOD: Duration = Duration::from_millis(20);

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
    let mut is_waiting = false;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(Some(HeldLock { _file: lock })),
            Err((busy, Errno::EWOULDBLOCK)) => file = busy,
            Err((_, errno)) => return Err(errno.into()),
        }
        if caught_signal().is_some() {
            return Err(Errno::EINTR.into());
        }
        if !is_waiting {
            waiting();
            is_waiting = true;
        }
        // A blocking lock would miss a signal that arrives just before the call.
        sleep(PERIOD);
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

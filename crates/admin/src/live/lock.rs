//! Lets only one hugeadm change the machine at a time, so that no other invalidates its
//! plan.
//!
//! The lock file can only be opened by root, so no other user can block hugeadm. If
//! `/run` is not writable, as in some containers, the lock is on the pools' directory;
//! on a recorded tree it is on the tree. The kernel releases the lock when the process
//! ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_model::Root;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::caught_signal;

const DIR: &str = "/run/hugetools";
const FILE: &str = "hugeadm.lock";
const POOLS: &str = "/sys/kernel/mm/hugepages";

/// The held lock.
#[derive(Debug)]
pub struct HeldLock {
    _file: Flock<File>,
}

/// Waits for the lock. Calls `waiting` if another process holds it, with the pid if
/// known. Returns `None` if there is nothing to lock: for users who may not change
/// anything, and without pools if `/run` is read-only.
///
/// # Errors
///
/// When locking fails or a signal arrives.
pub fn take(root: &Root, waiting: &mut dyn FnMut(Option<u32>)) -> io::Result<Option<HeldLock>> {
    let Some((mut file, named)) = open(root)? else {
        return Ok(None);
    };
    let mut lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => lock,
        Err((busy, Errno::EWOULDBLOCK)) => {
            file = busy;
            waiting(holder(&mut file));
            wait(file)?
        }
        Err((_, errno)) => return Err(errno.into()),
    };
    if named {
        // The pid is only for the message above.
        let _ = lock
            .set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
    }
    Ok(Some(HeldLock { _file: lock }))
}

fn wait(mut file: File) -> io::Result<Flock<File>> {
    loop {
        match Flock::lock(file, FlockArg::LockExclusive) {
            Ok(lock) => return Ok(lock),
            Err((again, Errno::EINTR)) if caught_signal().is_none() => file = again,
            Err((_, errno)) => return Err(errno.into()),
        }
    }
}

/// Opens the file to lock. The flag tells whether it contains the pid of the holder.
fn open(root: &Root) -> io::Result<Option<(File, bool)>> {
    if let Some(tree) = root.prefix() {
        return open_read_only(tree).map(|file| Some((file, false)));
    }
    let made = match fs::create_dir(DIR) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    };
    let opened = made.and_then(|()| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(Path::new(DIR).join(FILE))
    });
    match opened {
        Ok(file) => Ok(Some((file, true))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(_) => Ok(open_read_only(Path::new(POOLS))
            .ok()
            .map(|file| (file, false))),
    }
}

fn open_read_only(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

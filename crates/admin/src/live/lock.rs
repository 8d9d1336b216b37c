//! One hugeadm at a time: what one plans from, another must not change before
//! it is done.
//!
//! The lock is on a file that only root can open, so that nobody else can keep
//! it. Where `/run` cannot be written, as in some containers, it is on the
//! directory of the pools; with a recorded tree on the tree itself. It goes
//! with the process, however that ends.

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

/// The lock, held.
#[derive(Debug)]
pub struct Turn {
    _file: Flock<File>,
}

/// Waits for the lock. `None` where there is nothing to lock: for who may not
/// change anything, and on a kernel without pools whose `/run` is read-only.
/// `waiting` is told when another has it, and which process, if it says so.
///
/// # Errors
/// When the lock cannot be taken, or a signal came meanwhile.
pub fn take(root: &Root, waiting: &mut dyn FnMut(Option<u32>)) -> io::Result<Option<Turn>> {
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
        // Only for the message above.
        let _ = lock
            .set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
    }
    Ok(Some(Turn { _file: lock }))
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

/// The file to lock, and whether it is one that names its holder.
fn open(root: &Root) -> io::Result<Option<(File, bool)>> {
    if let Some(tree) = root.prefix() {
        return look_only(tree).map(|file| Some((file, false)));
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
        Err(_) => Ok(look_only(Path::new(POOLS)).ok().map(|file| (file, false))),
    }
}

fn look_only(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

//! What a start remembers for the next ones: that preparing a file was of no use. A lock
//! keeps starts apart.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::apply::effects::Effects;
use crate::apply::private_dir;
use crate::probe::coverage::page_cache::Why;
use crate::probe::coverage::page_cache::attempt_log::{Identity, Memory, NAME, REASONS, age};

/// The file of the lock.
const LOCK: &str = "lock";

/// The directory, made if need be.
///
/// # Errors
/// Why there is none.
pub(super) fn open(memory: &Memory) -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for place in &memory.places {
        match private_dir::open(place, NAME, memory.user) {
            Ok(dir) => return Ok(dir),
            Err(error) => reasons.push(format!("{}: {error}", place.dir().display())),
        }
    }
    Err(reasons.join("; "))
}

/// Remembers why preparing the file was of no use, and forgets what is too
/// old. What cannot be remembered is tried again.
pub(super) fn remember(dir: &Path, file: &Identity, why: &Why) {
    if let Some(word) = file.word(why) {
        forget_old(dir);
        let path = dir.join(&file.name);
        // One that is too old is in the way of the new one.
        let _ = fs::remove_file(&path);
        let _ = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&path)
            .and_then(|mut file| file.write_all(word.as_bytes()));
    }
}

fn forget_old(dir: &Path) {
    let longest = REASONS
        .iter()
        .map(|(_, _, limit)| *limit)
        .max()
        .unwrap_or_default();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_old = |metadata: Metadata| age(&metadata).is_none_or(|age| age >= longest);
        if entry.file_name() != LOCK && entry.metadata().is_ok_and(is_old) {
            // Another hugectl may have been faster.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Takes the lock; `None` when others hold it for too long. The kernel gives
/// it back when its holder ends, however it ends.
pub(super) fn lock(
    dir: &Path,
    patience: Duration,
    interval: Duration,
    effects: &mut dyn Effects,
) -> io::Result<Option<Flock<File>>> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o644)
        .custom_flags(libc::O_NOFOLLOW)
        .open(dir.join(LOCK))?;
    let start = effects.now();
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(Some(lock)),
            Err((back, Errno::EWOULDBLOCK | Errno::EINTR)) => file = back,
            Err((_, errno)) => return Err(errno.into()),
        }
        if effects.now().saturating_sub(start) >= patience {
            return Ok(None);
        }
        effects.pause(interval);
    }
}

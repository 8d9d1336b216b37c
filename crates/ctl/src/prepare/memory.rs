//! What is remembered about files between one start and the next: where
//! preparing them was of no use. A file of that name in a directory of ours
//! says so until it is too old, and a lock there keeps starts apart.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::Why;
use crate::caller::Caller;
use crate::effects::Effects;
use crate::private::{Place, places};

/// The directory in ours.
const NAME: &str = "page-cache";

/// The file of the lock in it.
const LOCK: &str = "lock";

/// What is remembered, and for how long: another kernel may have what this one
/// lacks, who uses a file ends some day, and what was written just now is on
/// disk in a minute; some file systems (overlay) do not write it when told.
const REASONS: [(&str, Why, Duration); 3] = [
    (
        "file system",
        Why::FileSystem,
        Duration::from_secs(24 * 60 * 60),
    ),
    ("in use", Why::InUse, Duration::from_secs(10 * 60)),
    (YOUNG, Why::FileSystem, MINUTE),
];

/// The word for a file that was written just now.
const YOUNG: &str = "young";

const MINUTE: Duration = Duration::from_secs(60);

/// What tells a file, and its contents, from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    name: String,
    pub(super) is_young: bool,
}

impl Identity {
    pub(super) fn of(file: &Metadata) -> Identity {
        let (device, inode, len) = (file.dev(), file.ino(), file.len());
        let (seconds, nanos) = (file.mtime(), file.mtime_nsec());
        let changed = u64::try_from(file.ctime()).unwrap_or(0);
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(changed);
        let age = SystemTime::now().duration_since(changed);
        Identity {
            name: format!("{device:x}-{inode}-{len}-{seconds}.{nanos:09}"),
            is_young: age.is_ok_and(|age| age < MINUTE),
        }
    }

    /// The word that says why, if that is worth to be remembered.
    pub(super) fn word(&self, why: &Why) -> Option<&'static str> {
        let (word, _, _) = REASONS.iter().find(|(_, known, _)| known == why)?;
        match self.is_young && *why == Why::FileSystem {
            true => Some(YOUNG),
            false => Some(word),
        }
    }
}

/// Where a user's memory is.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) places: Vec<Place>,
    pub(super) user: u32,
}

impl Memory {
    pub(super) fn of(caller: &Caller) -> Memory {
        Memory {
            places: places(caller),
            user: caller.euid,
        }
    }

    /// Why preparing the file was of no use, if that is not too long ago.
    pub(super) fn recall(&self, file: &Identity) -> Option<Why> {
        let mut paths = self
            .places
            .iter()
            .map(|place| place.dir().join(NAME).join(&file.name));
        paths.find_map(|path| self.read(&path).ok().flatten())
    }

    fn read(&self, path: &Path) -> io::Result<Option<Why>> {
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.uid() != self.user {
            return Ok(None);
        }
        let mut word = [0; 32];
        let read = file.read(&mut word)?;
        let word = word.get(..read).unwrap_or_default();
        let mut reasons = REASONS.iter();
        let known = reasons.find(|(known, _, _)| known.as_bytes() == word);
        let fresh = known.filter(|(_, _, limit)| age(&metadata).is_some_and(|age| age < *limit));
        Ok(fresh.map(|(_, why, _)| why.clone()))
    }

    /// The directory, made if need be.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn open(&self) -> Result<PathBuf, String> {
        let mut reasons = Vec::new();
        for place in &self.places {
            match place.open(NAME, self.user) {
                Ok(dir) => return Ok(dir),
                Err(error) => reasons.push(format!("{}: {error}", place.dir().display())),
            }
        }
        Err(reasons.join("; "))
    }

    /// Remembers why preparing the file was of no use, and forgets what is too
    /// old. What cannot be remembered is tried again.
    pub(super) fn remember(&self, dir: &Path, file: &Identity, why: &Why) {
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
}

fn age(metadata: &Metadata) -> Option<Duration> {
    SystemTime::now()
        .duration_since(metadata.modified().ok()?)
        .ok()
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

//! The log of failed attempts to fill the page cache with huge pages of a file. An entry is a
//! file in one of our directories; its contents are the reason. Later starts don't try again
//! until it expires.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Why;
use crate::caller::Caller;
use crate::files::places::{Place, places};

/// The directory of the log.
pub(crate) const NAME: &str = "page-cache";

/// The reasons, and how long an entry is valid. A recently written file may be on disk in a
/// minute; some file systems (overlay) don't write it when told to.
pub(crate) const REASONS: [(&str, Why, Duration); 3] = [
    (
        "file system",
        Why::FileSystem,
        Duration::from_secs(24 * 60 * 60),
    ),
    ("in use", Why::InUse, Duration::from_secs(10 * 60)),
    (YOUNG, Why::FileSystem, MINUTE),
];

/// The reason for recently written files.
const YOUNG: &str = "young";

const MINUTE: Duration = Duration::from_secs(60);

/// Identifies a file and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) is_young: bool,
}

impl Identity {
    pub(crate) fn of(file: &Metadata) -> Identity {
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

    /// Returns the word for a reason that is worth an entry.
    pub(crate) fn word(&self, why: &Why) -> Option<&'static str> {
        let (word, _, _) = REASONS.iter().find(|(_, known, _)| known == why)?;
        match self.is_young && *why == Why::FileSystem {
            true => Some(YOUNG),
            false => Some(word),
        }
    }
}

/// The log of one user.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) places: Vec<Place>,
    pub(crate) user: u32,
}

impl Memory {
    pub(crate) fn of(caller: &Caller) -> Memory {
        Memory {
            places: places(caller),
            user: caller.euid,
        }
    }

    /// Returns the reason of an entry that is still valid.
    pub(crate) fn recall(&self, file: &Identity) -> Option<Why> {
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
}

pub(crate) fn age(metadata: &Metadata) -> Option<Duration> {
    SystemTime::now()
        .duration_since(metadata.modified().ok()?)
        .ok()
}

//! Enters a launch in the ledger of messages: [`hugetools_contract::ledger`].

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hugetools_contract::ledger::{LEN, PREFIX, Place};

use crate::apply::private_dir;
use crate::caller::Caller;
use crate::caller::filter::Answer;
use crate::files::places::places;
use crate::sys::shared;

/// The directory below ours, and the file in it.
const DIR: &str = "ledger";
const NAME: &str = "launches";

/// Enters this launch with the kinds of messages that hugectl has printed. Returns `None` if
/// the ledger cannot be opened: then each process prints its own messages.
pub(super) fn enter(caller: &Caller, printed: u64) -> Option<Place> {
    if caller.filter.truncate == Answer::Kills {
        return None;
    }
    places(caller).iter().find_map(|place| {
        let path = private_dir::open(place, DIR, caller.euid).ok()?.join(NAME);
        let place = Place::new(key(caller), path.as_os_str().as_bytes())?;
        let file = open(&path, caller.euid).ok()?;
        shared::ledger(&file).ok()?.enter(place.key(), printed);
        Some(place)
    })
}

/// Returns a key unique to this launch: the process ID, and the time in ns modulo 2^32 (4.3 s).
fn key(caller: &Caller) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    let time = u64::try_from(now & u128::from(u32::MAX)).unwrap_or(0);
    u64::from(caller.pid) << 32 | time
}

fn open(path: &Path, user: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != user || about.mode() & 0o077 != 0 {
        fs::remove_file(path)?;
        return Err(io::Error::other("other users can write to it"));
    }
    if about.len() != LEN as u64 {
        file.set_len(LEN as u64)?;
    }
    // On a full file system a write fails; a store to the mapping would raise SIGBUS.
    file.write_all_at(&PREFIX, 0)?;
    Ok(file)
}

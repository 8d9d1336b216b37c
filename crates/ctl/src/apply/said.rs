//! What the processes of a start have said, so that one of them says it: a small file in
//! the directory that is ours anyway, the same for all starts of a user.

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

/// The directory in ours, and the file in it.
const DIR: &str = "said";
const NAME: &str = "starts";

/// Enters this start, which has said these kinds of lines already. `None` where there is
/// no place for the file: then each process says what it has to say.
pub(super) fn enter(caller: &Caller, said: u64) -> Option<Place> {
    if caller.filter.truncate == Answer::Ends {
        return None;
    }
    places(caller).iter().find_map(|place| {
        let path = private_dir::open(place, DIR, caller.euid).ok()?.join(NAME);
        let place = Place::new(key(caller), path.as_os_str().as_bytes())?;
        let file = open(&path, caller.euid).ok()?;
        shared::ledger(&file).ok()?.enter(place.key(), said);
        Some(place)
    })
}

/// No other start has the same.
fn key(caller: &Caller) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    // The lower half of the time takes more than four seconds to come again.
    let time = u64::try_from(now & u128::from(u32::MAX)).unwrap_or(0);
    u64::from(caller.pid) << 32 | time
}

/// Opens the file, made if need be.
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
        return Err(io::Error::other("others can change what is there"));
    }
    // All that write to it make it as long.
    file.set_len(LEN as u64)?;
    // A full file system is an error here; in a mapping it would be a signal.
    file.write_all_at(&PREFIX, 0)?;
    Ok(file)
}

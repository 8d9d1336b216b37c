//! The log of files that could not be put on huge pages of the page cache. `apply` writes it.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Why;
use crate::caller::Caller;
use crate::files::places::places;

/// The log's directory, below `/run/hugetools` or a user's place.
pub(crate) const DIR: &str = "page-cache";

/// How long a record is valid. By then other users of the file may have ended, or huge pages may be
/// free.
const VALID: Duration = Duration::from_secs(10 * 60);

const FILE_SYSTEM: &str = "file system";
const IN_USE: &str = "in use";

/// Returns the record's name, which identifies the file and its contents.
pub(crate) fn name(file: &Metadata) -> String {
    let (device, inode, len) = (file.dev(), file.ino(), file.len());
    let (seconds, nanos) = (file.mtime(), file.mtime_nsec());
    format!("{device:x}-{inode}-{len}-{seconds}.{nanos:09}")
}

/// Returns the contents of a record.
pub(crate) fn text(why: &Why) -> &'static str {
    match why {
        Why::FileSystem => FILE_SYSTEM,
        _ => IN_USE,
    }
}

/// Whether a record is valid.
pub(crate) fn is_fresh(record: &Metadata) -> bool {
    let modified = record.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let age = SystemTime::now().duration_since(modified);
    age.is_ok_and(|age| age < VALID)
}

/// Returns why an attempt failed, if a valid record has this name.
pub(crate) fn recall(caller: &Caller, name: &str) -> Option<Why> {
    let places = places(caller);
    let mut paths = places.iter().map(|place| place.dir().join(DIR).join(name));
    paths.find_map(|path| read(&path, caller.euid))
}

fn read(path: &Path, user: u32) -> Option<Why> {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let mut file = options.read(true).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.uid() != user || !is_fresh(&metadata) {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    match text.as_str() {
        FILE_SYSTEM => Some(Why::FileSystem),
        IN_USE => Some(Why::Temporary),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, FileTimes};
    use std::io::Write;

    #[test]
    fn a_record_is_valid_for_a_while_if_it_is_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        let user = nix::unistd::geteuid().as_raw();
        let mut file = File::create(&path).unwrap();
        assert_eq!(read(&path, user), None);
        file.write_all(text(&Why::FileSystem).as_bytes()).unwrap();
        assert_eq!(read(&path, user), Some(Why::FileSystem));
        assert_eq!(read(&path, user + 1), None);
        let old = FileTimes::new().set_modified(SystemTime::now() - VALID);
        file.set_times(old).unwrap();
        assert_eq!(read(&path, user), None);
    }
}

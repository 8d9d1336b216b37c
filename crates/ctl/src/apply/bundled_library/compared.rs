//! Which state of a file on disk was compared with what is inside hugectl: a link
//! beside it says so, in a directory where nobody else can write. The time of the
//! last change, which cannot be set, tells every later state from that one.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Younger changes are not believed to be the last of their moment: file systems
/// count time in steps of up to two seconds, and have written contents to disk in
/// less than a minute.
const SETTLED: Duration = Duration::from_secs(60);

/// Whether the file is in the state that was compared.
pub(super) fn is_noted(path: &Path, file: &Metadata) -> bool {
    fs::read_link(link(path)).is_ok_and(|noted| noted.as_os_str() == &*state(file))
}

/// Notes that the file was compared in this state. Where that is not possible, the
/// next start compares again.
pub(super) fn note(path: &Path, file: &Metadata) {
    note_at(SystemTime::now(), path, file);
}

fn note_at(now: SystemTime, path: &Path, file: &Metadata) {
    let changed = Duration::from_secs(u64::try_from(file.ctime()).unwrap_or(0));
    let age = now.duration_since(SystemTime::UNIX_EPOCH + changed);
    if age.is_ok_and(|age| age >= SETTLED) {
        let draft = path.with_extension(format!("compared.{}", std::process::id()));
        let noted = symlink(state(file), &draft).and_then(|()| fs::rename(&draft, link(path)));
        if noted.is_err() {
            let _ = fs::remove_file(&draft);
        }
    }
}

fn link(path: &Path) -> PathBuf {
    path.with_extension("compared")
}

fn state(file: &Metadata) -> String {
    let (device, inode, len) = (file.dev(), file.ino(), file.len());
    let (seconds, nanos) = (file.ctime(), file.ctime_nsec());
    format!("{device:x}-{inode}-{len}-{seconds}.{nanos:09}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn a_change_is_seen_and_a_young_state_is_not_noted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lib.so");
        let mut file = fs::File::create_new(&path).unwrap();
        file.write_all(b"one").unwrap();
        let before = path.metadata().unwrap();
        note(&path, &before);
        assert!(!is_noted(&path, &before));
        note_at(SystemTime::now() + 2 * SETTLED, &path, &before);
        assert!(is_noted(&path, &before));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        std::thread::sleep(Duration::from_millis(20));
        file.write_all(b"two").unwrap();
        let after = path.metadata().unwrap();
        assert!(!is_noted(&path, &after));
        note_at(SystemTime::now() + 2 * SETTLED, &path, &after);
        assert!(is_noted(&path, &after) && !is_noted(&path, &before));
    }

    /// Contents of the same length, and the time of what was there.
    #[test]
    fn a_change_that_is_hidden_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lib.so");
        let mut file = fs::File::create_new(&path).unwrap();
        file.write_all(b"one").unwrap();
        let before = path.metadata().unwrap();
        note_at(SystemTime::now() + 2 * SETTLED, &path, &before);
        std::thread::sleep(Duration::from_millis(20));
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"two").unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        let after = path.metadata().unwrap();
        assert_eq!(after.modified().unwrap(), before.modified().unwrap());
        assert!(!is_noted(&path, &after));
    }
}

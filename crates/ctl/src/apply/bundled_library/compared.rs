//! Remembers that a file was compared with the library inside hugectl: a symbolic link beside
//! it holds the file's identity, in a directory that nobody else can write to. The change
//! time, which cannot be set, detects later changes.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Age at which a change time is reliable: file systems have steps of up to two seconds, and
/// update the time of a mapped write late.
const SETTLED: Duration = Duration::from_secs(60);

/// Whether the file is unchanged since it was compared.
pub(super) fn is_noted(path: &Path, file: &Metadata) -> bool {
    fs::read_link(link(path)).is_ok_and(|noted| noted.as_os_str() == &*identity(file))
}

/// Notes that the file was compared. If that fails, the next start compares again.
pub(super) fn note(path: &Path, file: &Metadata) {
    note_at(SystemTime::now(), path, file);
}

fn note_at(now: SystemTime, path: &Path, file: &Metadata) {
    let changed = Duration::from_secs(u64::try_from(file.ctime()).unwrap_or(0));
    let age = now.duration_since(SystemTime::UNIX_EPOCH + changed);
    if age.is_ok_and(|age| age >= SETTLED) {
        let draft = path.with_extension(format!("compared.{}", std::process::id()));
        let noted = symlink(identity(file), &draft).and_then(|()| fs::rename(&draft, link(path)));
        if noted.is_err() {
            let _ = fs::remove_file(&draft);
        }
    }
}

fn link(path: &Path) -> PathBuf {
    path.with_extension("compared")
}

fn identity(file: &Metadata) -> String {
    let (device, inode, len) = (file.dev(), file.ino(), file.len());
    let (seconds, nanos) = (file.ctime(), file.ctime_nsec());
    format!("{device:x}-{inode}-{len}-{seconds}.{nanos:09}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    /// Even a change to contents of the same length with the old modification time.
    #[test]
    fn a_change_is_detected_and_a_recent_file_is_not_noted() {
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
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"two").unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        assert!(!is_noted(&path, &path.metadata().unwrap()));
    }
}

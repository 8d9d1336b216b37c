//! Remembers that a file was compared with the embedded library: a symbolic link beside it holds
//! its identity, in a directory that no other user can write to. A later change of the file changes
//! its ctime, which cannot be set.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Whether the file is unchanged since it was compared.
pub(super) fn is_noted(path: &Path, file: &Metadata) -> bool {
    fs::read_link(link(path)).is_ok_and(|noted| noted.as_os_str() == &*identity(file))
}

/// Notes that the file was compared. If that fails, the next start compares again.
pub(super) fn note(path: &Path, file: &Metadata) {
    let draft = path.with_extension(format!("compared.{}", std::process::id()));
    let noted = symlink(identity(file), &draft).and_then(|()| fs::rename(&draft, link(path)));
    if noted.is_err() {
        let _ = fs::remove_file(&draft);
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
    use std::time::Duration;

    /// The change keeps the length and the modification time.
    #[test]
    fn a_change_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lib.so");
        let mut file = fs::File::create_new(&path).unwrap();
        file.write_all(b"one").unwrap();
        let before = path.metadata().unwrap();
        assert!(!is_noted(&path, &before));
        note(&path, &before);
        assert!(is_noted(&path, &before));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        std::thread::sleep(Duration::from_millis(20));
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"two").unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        assert!(!is_noted(&path, &path.metadata().unwrap()));
    }
}

//! Lists the files of the hugetlbfs mounts.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_model::mount::{self, Mount};

use super::{Scan, Stat};
use crate::listing::who::Kind;

/// Files, and errors of unreadable directories.
#[derive(Default)]
struct Listed {
    files: Vec<(PathBuf, fs::Metadata)>,
    unread: Vec<String>,
}

/// Lists all files below a directory, on the same file system.
fn list(top: &Path, device: u64) -> Listed {
    let mut listed = Listed::default();
    let mut dirs = vec![top.to_owned()];
    while let Some(dir) = dirs.pop() {
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) => {
                let why = format!("the files in {}: {error}", dir.display());
                listed.unread.push(why);
                continue;
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.dev() != device => {}
                Ok(found) if found.is_dir() => dirs.push(path),
                Ok(found) => listed.files.push((path, found)),
                Err(_) => {}
            }
        }
    }
    listed
}

impl Scan<'_> {
    /// Adds all files of all mounts. Remembers the devices of other mounts.
    pub(super) fn scan_mounts(&mut self) {
        for mount in mount::read(self.root).unwrap_or_default() {
            if mount.is_hugetlbfs() {
                self.walk_mount(mount);
            } else {
                self.devices
                    .extend(mount.device.map(|device| (device, false)));
            }
        }
    }

    fn walk_mount(&mut self, mount: Mount) {
        let point = mount.point;
        let top = fs::metadata(&point).ok().map(|top| top.dev());
        let Some(device) = mount.device.or(top) else {
            return self.add_unread(format!("the files on {}", point.display()));
        };
        self.devices.insert(device, true);
        self.points.insert(point.clone());
        if top != Some(device) {
            return self.add_unread(format!(
                "the files on {}, which is covered by another mount",
                point.display()
            ));
        }
        let listed = list(&point, device);
        for why in listed.unread {
            self.add_unread(why);
        }
        for (path, found) in listed.files {
            let Some(size) = self.pool_size(found.blksize()).filter(|_| found.is_file()) else {
                continue;
            };
            let kind = Kind::File(path.to_string_lossy().into_owned());
            self.object((found.dev(), found.ino()), size, kind, Stat::of(&found));
        }
    }
}

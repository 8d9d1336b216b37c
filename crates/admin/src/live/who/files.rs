//! The files of all hugetlbfs mounts, those of other mount namespaces included.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_model::mount::{self, Mount};
use hugetools_model::{KPath, Root};

use super::{Look, Stat};
use crate::who::Kind;

/// A mount, and how this process reaches it.
#[derive(Debug)]
pub(super) struct Place {
    /// Where it is for those who see it.
    point: PathBuf,
    /// Where it is for us.
    path: PathBuf,
}

/// The mounts of all mount namespaces of which a process can be seen.
pub(super) fn all_mounts(root: &Root) -> Vec<Place> {
    let mut namespaces = BTreeSet::new();
    let mut places = Vec::new();
    let ours = fs::read_link(root.host_path("/proc/self/ns/mnt"));
    namespaces.extend(ours);
    places.extend(places_of(mount::read(root).unwrap_or_default(), None));
    for name in root.list(&KPath::from("/proc")).unwrap_or_default() {
        let is_process = name
            .to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok());
        let process = Path::new("/proc").join(&name);
        let Ok(namespace) = fs::read_link(root.host_path(process.join("ns/mnt"))) else {
            continue;
        };
        if is_process && namespaces.insert(namespace) {
            let table = KPath::from("/proc")
                .join(name.to_string_lossy())
                .join("mountinfo");
            let mounts = root.read(&table).unwrap_or_default();
            let mounts = mount::parse_mountinfo(&mounts);
            places.extend(places_of(mounts, Some(&process.join("root"))));
        }
    }
    places
}

fn places_of(mounts: Vec<Mount>, above: Option<&Path>) -> Vec<Place> {
    let huge = mounts.into_iter().filter(Mount::is_hugetlbfs);
    let place = |mount: Mount| Place {
        path: match above {
            None => mount.point.clone(),
            Some(above) => above.join(mount.point.strip_prefix("/").unwrap_or(&mount.point)),
        },
        point: mount.point,
    };
    huge.map(place).collect()
}

impl Look<'_> {
    /// All files of a mount.
    pub(super) fn walk(&mut self, place: &Place) {
        let Ok(top) = fs::metadata(self.root.host_path(&place.path)) else {
            return self.unread(format!("the files on {}", place.point.display()));
        };
        self.devices.insert(top.dev());
        self.points.insert(place.point.clone());
        let mut dirs = vec![place.path.clone()];
        while let Some(dir) = dirs.pop() {
            let entries = match fs::read_dir(self.root.host_path(&dir)) {
                Ok(entries) => entries,
                Err(error) => {
                    self.unread(format!("the files in {}: {error}", dir.display()));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let path = entry.path();
                let Ok(found) = fs::symlink_metadata(&path) else {
                    continue;
                };
                if found.dev() != top.dev() {
                    continue;
                }
                if found.is_dir() {
                    dirs.push(path);
                } else if let Some(size) = self.size(found.blksize()).filter(|_| found.is_file()) {
                    let inside = path.strip_prefix(&place.path).unwrap_or(&path);
                    let text = |path: &Path| path.to_string_lossy().into_owned();
                    let kind = Kind::File {
                        path: text(&place.point.join(inside)),
                        here: text(&path),
                    };
                    let key = (found.dev(), found.ino());
                    self.object(key, size, kind, Stat::of(&found));
                }
            }
        }
    }
}

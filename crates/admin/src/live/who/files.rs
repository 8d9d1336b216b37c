//! Lists the files of all hugetlbfs mounts, including other mount namespaces.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_model::mount::{self, Mount};
use hugetools_model::{KPath, Root};

use super::{Scan, Stat};
use crate::listing::who::Kind;

/// A mount, and the path by which this process reaches it.
#[derive(Debug)]
pub(super) struct Place {
    /// The mount point in its own namespace.
    pub(super) point: PathBuf,
    /// The path for this process.
    pub(super) path: PathBuf,
    /// The device number, if the kernel shows it.
    pub(super) device: Option<u64>,
}

/// The mounts that processes can see.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Mounts of hugetlbfs.
    pub(super) huge: Vec<Place>,
    /// Devices of all other mounts.
    pub(super) others: BTreeSet<u64>,
}

/// Collects the mounts of every mount namespace with a visible process.
pub(super) fn all_mounts(root: &Root) -> Places {
    let mut namespaces = BTreeSet::new();
    let mut places = Places::default();
    let ours = fs::read_link(root.host_path("/proc/self/ns/mnt"));
    namespaces.extend(ours);
    places.add(mount::read(root).unwrap_or_default(), None);
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
            places.add(mounts, Some(&process.join("root")));
        }
    }
    places
}

impl Places {
    fn add(&mut self, mounts: Vec<Mount>, above: Option<&Path>) {
        for mount in &mounts {
            if !mount.is_hugetlbfs() {
                self.others.extend(mount.device);
                continue;
            }
            let inside = mount.point.strip_prefix("/").unwrap_or(&mount.point);
            self.huge.push(Place {
                path: above.map_or_else(|| mount.point.clone(), |above| above.join(inside)),
                point: mount.point.clone(),
                device: mount.device,
            });
        }
    }
}

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
    /// Adds all files of a mount.
    pub(super) fn walk(&mut self, place: &Place) {
        let path = self.root.host_path(&place.path);
        let top = fs::metadata(&path).ok().map(|top| top.dev());
        let Some(device) = place.device.or(top) else {
            return self.unread(format!("the files on {}", place.point.display()));
        };
        self.devices.insert(device, true);
        self.points.insert(place.point.clone());
        if top != Some(device) {
            return self.unread(format!(
                "the files on {}, which is covered by another mount",
                place.point.display()
            ));
        }
        let listed = list(&path, device);
        for why in listed.unread {
            self.unread(why);
        }
        for (path, found) in listed.files {
            let Some(size) = self.size(found.blksize()).filter(|_| found.is_file()) else {
                continue;
            };
            let inside = path.strip_prefix(&place.path).unwrap_or(&path);
            let text = |path: &Path| path.to_string_lossy().into_owned();
            let seen = text(&place.point.join(inside));
            let kind = Kind::File {
                path: seen,
                local_path: text(&path),
            };
            self.object((found.dev(), found.ino()), size, kind, Stat::of(&found));
        }
    }
}

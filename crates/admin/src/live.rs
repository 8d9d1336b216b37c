//! The real effects: the only module of this crate that calls the system.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;

use hugetools_model::Root;
use hugetools_model::error::describe_errno;
use nix::mount::MsFlags;
use nix::unistd::{AccessFlags, Gid, Group, access};

use crate::effects::{Effects, Found, Ran};
use crate::plan::{Mount, Owner};

/// The effects on the machine, or, with a recorded tree, on the directories
/// below it and nothing else.
#[derive(Debug)]
pub struct Live {
    root: Root,
}

impl Live {
    /// The effects where `root` is.
    pub fn new(root: Root) -> Live {
        Live { root }
    }
}

impl Effects for Live {
    fn look(&mut self, path: &Path) -> io::Result<Option<Found>> {
        match fs::metadata(self.root.checked_path(path)?) {
            Ok(found) => Ok(Some(Found {
                directory: found.is_dir(),
                owner: Owner {
                    uid: found.uid(),
                    gid: found.gid(),
                    mode: found.mode() & 0o7777,
                },
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn make_dir(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        let path = self.root.checked_path(path)?;
        fs::DirBuilder::new().mode(mode).create(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
    }

    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<Ran> {
        if !self.root.is_live() {
            return Ok(Ran::NotHere);
        }
        chown(path, Some(owner.uid), Some(owner.gid))?;
        fs::set_permissions(path, fs::Permissions::from_mode(owner.mode))?;
        Ok(Ran::Yes)
    }

    fn mount(&mut self, mount: &Mount) -> io::Result<Ran> {
        if !self.root.is_live() {
            return Ok(Ran::NotHere);
        }
        nix::mount::mount(
            Some("none"),
            &mount.point,
            Some("hugetlbfs"),
            MsFlags::empty(),
            Some(mount.options().as_str()),
        )?;
        Ok(Ran::Yes)
    }
}

/// The number of a group in this host's database, by name or by number.
///
/// # Errors
/// When the database cannot be asked.
pub fn find_group(name: &str) -> Result<Option<u32>, String> {
    let told = |errno: nix::Error| {
        let why = describe_errno(errno as i32);
        format!("cannot ask the group database: {why}")
    };
    let mut found = Group::from_name(name).map_err(told)?;
    if let (None, Ok(number)) = (&found, name.parse()) {
        found = Group::from_gid(Gid::from_raw(number)).map_err(told)?;
    }
    Ok(found.map(|group| group.gid.as_raw()))
}

/// Whether the caller, by his real user, may read, write and search a
/// directory. A recorded tree is believed.
pub fn accessible(root: &Root, path: &Path) -> bool {
    !root.is_live()
        || access(
            path,
            AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK,
        )
        .is_ok()
}

//! Implements [`Effects`] on the running machine.
//!
//! **Invariants.** Errors of system calls are returned unchanged. Only account look-ups and
//! commands return a text.

mod accounts;
pub mod files;
pub mod lock;
pub mod size_for;
mod swap;
mod sys;
pub mod who;

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown, lchown,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hugetools_model::Root;
use nix::mount::{MntFlags, MsFlags};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{AccessFlags, access};

pub use sys::{catch_signals, caught_signal, end_by};

use crate::effects::{Account, Effects, Found};
use crate::step::{Install, Installed, Mount, Owner, Swap};

/// Operates on the running machine, or on files and directories of a recorded tree.
#[derive(Debug)]
pub struct Live {
    root: Root,
}

impl Live {
    /// Returns the operations on `root`.
    pub fn new(root: Root) -> Live {
        Live { root }
    }

    fn path(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        self.root.checked_path(path)
    }

    /// Like `path`, but the last component may be a symlink out of the tree: callers don't follow
    /// it.
    fn entry(&self, path: &Path) -> io::Result<PathBuf> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(self.path(dir)?.join(name))
    }
}

/// Opens a directory. All later operations use the descriptor, because the owner of the
/// parent directory could replace the directory by a symlink.
fn open_dir(path: &Path) -> io::Result<fs::File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
}

/// Sets owner and mode of a device directly in `/dev`, such as `/dev/userfaultfd`. Only root can
/// replace it by a symlink. Clears access for group and others first, so that the old group never
/// gets the new group's access.
fn own_device(path: &Path, owner: Owner) -> io::Result<()> {
    if path.parent() != Some(Path::new("/dev")) {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o600 & owner.mode))?;
    lchown(path, Some(owner.uid), Some(owner.gid))?;
    fs::set_permissions(path, fs::Permissions::from_mode(owner.mode))
}

impl Effects for Live {
    fn user(&mut self, name: &str) -> Result<Option<Account>, String> {
        accounts::user(name)
    }

    fn group(&mut self, name: &str) -> Result<Option<Account>, String> {
        accounts::group(name)
    }

    fn stat(&mut self, path: &Path) -> io::Result<Option<Found>> {
        match fs::metadata(self.path(path)?) {
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
        let path = self.path(path)?;
        // A umask would clear bits of the mode. No other thread creates files meanwhile.
        let old_umask = umask(Mode::empty());
        let result = fs::DirBuilder::new().mode(mode).create(&path);
        umask(old_umask);
        result
    }

    fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_dir(self.path(path)?)
    }

    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<()> {
        let dir = match open_dir(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => {
                return own_device(path, owner);
            }
            dir => dir?,
        };
        fchown(&dir, Some(owner.uid), Some(owner.gid))?;
        dir.set_permissions(fs::Permissions::from_mode(owner.mode))
    }

    fn mount(&mut self, mount: &Mount) -> io::Result<()> {
        let dir = open_dir(&mount.point)?;
        let point = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
        let options = mount.options();
        let (source, kind) = (Some("none"), Some("hugetlbfs"));
        let flags = MsFlags::empty();
        nix::mount::mount(source, point.as_str(), kind, flags, Some(options.as_str()))?;
        Ok(())
    }

    fn unmount(&mut self, point: &Path) -> io::Result<()> {
        nix::mount::umount2(point, MntFlags::UMOUNT_NOFOLLOW)?;
        Ok(())
    }

    fn swap_on(&mut self, swap: &Swap) -> io::Result<()> {
        swap::on(swap)
    }

    fn swap_off(&mut self, swap: &Swap) -> io::Result<()> {
        swap::off(&self.root, swap)
    }

    fn read_installed(&mut self, path: &Path) -> io::Result<Option<Installed>> {
        files::read_installed(&self.entry(path)?)
    }

    fn install(&mut self, install: &Install) -> io::Result<()> {
        files::install(&self.entry(&install.path)?, &install.contents)
    }

    fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(self.entry(path)?)
    }

    fn run(&mut self, words: &[&str]) -> io::Result<()> {
        files::run(words)
    }

    fn sync(&mut self) {
        nix::unistd::sync();
    }

    fn pause(&mut self, time: Duration) {
        const SLICE: Duration = Duration::from_millis(50);
        let mut left = time;
        while !left.is_zero() && !self.interrupted() {
            std::thread::sleep(left.min(SLICE));
            left = left.saturating_sub(SLICE);
        }
    }

    fn is_root(&mut self) -> bool {
        nix::unistd::geteuid().is_root()
    }

    fn interrupted(&mut self) -> bool {
        caught_signal().is_some()
    }
}

/// Returns the modification time of a file; `None` if it can't be read.
pub fn modification_time(root: &Root, path: &str) -> Option<SystemTime> {
    let file = root.checked_path(path).ok()?;
    fs::metadata(file).ok()?.modified().ok()
}

/// Whether the caller's real user may read, write and search a directory. Always true
/// on a recorded tree.
pub fn accessible(root: &Root, path: &Path) -> bool {
    !root.is_live()
        || access(
            path,
            AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK,
        )
        .is_ok()
}

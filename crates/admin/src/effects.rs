//! Operations on the machine. ([`hugetools_model::Root`] reads and writes kernel files.)
//!
//! **Invariants.** Whatever changes the machine, waits, or looks up users and files goes through
//! this trait. On a recorded tree, mounts, owners and swap are skipped.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::step::{Install, Installed, Mount, Owner, Swap};

/// Operations needed by requests, plans and their execution.
pub trait Effects {
    /// Looks up a user by name or number; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When the user database cannot be read.
    fn user(&mut self, name: &str) -> Result<Option<Account>, String>;

    /// Looks up a group by name or number; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When the group database cannot be read.
    fn group(&mut self, name: &str) -> Result<Option<Account>, String>;

    /// Stats a path, following symlinks; `None` if it doesn't exist.
    ///
    /// # Errors
    ///
    /// When stat fails otherwise.
    fn stat(&mut self, path: &Path) -> io::Result<Option<Found>>;

    /// Creates a directory with exactly this mode, independent of the umask.
    ///
    /// # Errors
    ///
    /// When it cannot be created, or exists already.
    fn make_dir(&mut self, path: &Path, mode: u32) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// When it cannot be removed, or is not empty.
    fn remove_dir(&mut self, path: &Path) -> io::Result<()>;

    /// Sets owner and mode.
    ///
    /// # Errors
    /// When one of them cannot be set.
    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<()>;

    /// Mounts a hugetlbfs.
    ///
    /// # Errors
    /// When it cannot be mounted.
    fn mount(&mut self, mount: &Mount) -> io::Result<()>;

    /// Unmounts the topmost mount on a directory.
    ///
    /// # Errors
    /// When it is in use or cannot be unmounted.
    fn unmount(&mut self, point: &Path) -> io::Result<()>;

    /// Creates a swap area in a new file or on a device, and enables it. Removes a
    /// new file again if that fails.
    ///
    /// # Errors
    ///
    /// When it cannot be created or enabled.
    fn swap_on(&mut self, swap: &Swap) -> io::Result<()>;

    /// Disables a swap area if it is enabled, and removes its file.
    ///
    /// # Errors
    ///
    /// When its contents don't fit into memory, or the file cannot be removed.
    fn swap_off(&mut self, swap: &Swap) -> io::Result<()>;

    /// Reads a file or a link; `None` if it doesn't exist.
    ///
    /// # Errors
    /// When it is neither, or cannot be read.
    fn installed(&mut self, path: &Path) -> io::Result<Option<Installed>>;

    /// Writes a file or a link atomically: a reader always sees the old or the new one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn install(&mut self, install: &Install) -> io::Result<()>;

    /// Removes a file or a link.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove_file(&mut self, path: &Path) -> io::Result<()>;

    /// Runs a command.
    ///
    /// # Errors
    /// When it cannot be started, or fails, with what it printed.
    fn run(&mut self, words: &[&str]) -> io::Result<()>;

    /// Writes dirty pages to disk, so that their memory can be reclaimed.
    fn sync(&mut self);

    /// Sleeps, unless interrupted.
    fn pause(&mut self, time: Duration);

    /// Whether the caller is root. The root of a user namespace may still be
    /// refused.
    fn is_root(&mut self) -> bool;

    /// Whether a signal has interrupted the run.
    fn interrupted(&mut self) -> bool;
}

/// A user or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
}

/// The result of a stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Whether it is a directory.
    pub directory: bool,
    /// Owner and mode.
    pub owner: Owner,
}

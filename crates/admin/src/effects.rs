//! Operations on the machine. ([`hugetools_model::Root`] reads and writes kernel files.)
//!
//! **Invariants.** Changes of the machine, waits, and lookups of users and files go through this
//! trait. On a recorded tree, mounts, owners, swap and commands are skipped.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::step::{Install, Installed, Mount, Owner, Swap};

/// Operations needed by requests, plans and their execution.
pub trait Effects {
    /// Looks up a user by name or number; `None` if there is none.
    fn user(&mut self, name: &str) -> Result<Option<Account>, String>;

    /// Looks up a group by name or number; `None` if there is none.
    fn group(&mut self, name: &str) -> Result<Option<Account>, String>;

    /// Stats a path, following symlinks; `None` if it doesn't exist.
    fn stat(&mut self, path: &Path) -> io::Result<Option<Found>>;

    /// Creates a directory with exactly this mode, independent of the umask.
    fn make_dir(&mut self, path: &Path, mode: u32) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&mut self, path: &Path) -> io::Result<()>;

    /// Sets owner and mode.
    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<()>;

    /// Mounts a hugetlbfs.
    fn mount(&mut self, mount: &Mount) -> io::Result<()>;

    /// Unmounts the topmost mount on a directory.
    fn unmount(&mut self, point: &Path) -> io::Result<()>;

    /// Creates and enables swap in a new file or on a device. Removes the file on failure.
    fn swap_on(&mut self, swap: &Swap) -> io::Result<()>;

    /// Disables a swap area if it is enabled, and removes its file.
    fn swap_off(&mut self, swap: &Swap) -> io::Result<()>;

    /// Reads a file or a link; `None` if it doesn't exist.
    fn read_installed(&mut self, path: &Path) -> io::Result<Option<Installed>>;

    /// Writes a file or a link atomically: a reader always sees the old or the new one.
    fn install(&mut self, install: &Install) -> io::Result<()>;

    /// Removes a file or a link.
    fn remove_file(&mut self, path: &Path) -> io::Result<()>;

    /// Runs a command. An error contains its standard error.
    fn run(&mut self, words: &[&str]) -> io::Result<()>;

    /// Writes dirty pages to disk, so that their memory can be reclaimed.
    fn sync(&mut self);

    /// Sleeps, unless interrupted.
    fn pause(&mut self, time: Duration);

    /// Whether the caller is root. The kernel may still refuse root of a user namespace.
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

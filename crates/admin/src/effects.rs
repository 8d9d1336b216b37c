//! What is done to the machine besides writing its kernel files: the second
//! seam besides [`hugetools_model::Root`].
//!
//! **Invariants.** Everything that changes the machine, waits, or asks for users and files
//! is a function of this trait, but for files of the kernel.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use hugetools_model::{Bytes, PageSize};

use crate::step::unfinished::Unfinished;
use crate::step::{Mount, Owner, Swap};

/// The calls that a request, a plan and its application need.
pub trait Effects {
    /// A user by name or number. `None` where there is no such user.
    ///
    /// # Errors
    /// When the database cannot be asked.
    fn user(&mut self, name: &str) -> Result<Option<Account>, String>;

    /// A group by name or number. `None` where there is no such group.
    ///
    /// # Errors
    /// When the database cannot be asked.
    fn group(&mut self, name: &str) -> Result<Option<Account>, String>;

    /// What is at a path; links are followed. `None` where nothing is.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn look(&mut self, path: &Path) -> io::Result<Option<Found>>;

    /// The names in a directory, sorted; none where there is no directory.
    ///
    /// # Errors
    /// When they cannot be read.
    fn names(&mut self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Makes a directory with exactly this mode, whatever the umask.
    ///
    /// # Errors
    /// When it cannot be made, or is there already.
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
    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<Ran>;

    /// Mounts a hugetlbfs.
    ///
    /// # Errors
    /// When it cannot be mounted.
    fn mount(&mut self, mount: &Mount) -> io::Result<Ran>;

    /// Unmounts what was mounted last on a directory.
    ///
    /// # Errors
    /// When it is in use or cannot be unmounted.
    fn unmount(&mut self, point: &Path) -> io::Result<Ran>;

    /// How much fits on the file system of a directory.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn room(&mut self, dir: &Path) -> io::Result<Bytes>;

    /// Makes swap of a new file or of a device, and uses it. What was made of
    /// it is taken back when it cannot be used.
    ///
    /// # Errors
    /// When it cannot be made or used.
    fn swap_on(&mut self, swap: &Swap) -> io::Result<Ran>;

    /// Uses swap no longer, if it was in use, and removes its file.
    ///
    /// # Errors
    /// When what is on it fits nowhere else, or its file cannot be removed.
    fn swap_off(&mut self, swap: &Swap) -> io::Result<Ran>;

    /// Writes what is only in memory to the disks, so that it can be dropped.
    fn sync(&mut self);

    /// A pool begins to grow. Whether somebody watches, and the pool shall
    /// grow in pieces: the kernel does not say how far it has come before it
    /// has found all the pages of one write.
    fn growth_begins(&mut self, growth: &Growth) -> bool;

    /// So many pages there are now.
    fn growth_at(&mut self, pages: u64);

    /// Nothing is to be shown any longer.
    fn growth_ends(&mut self);

    /// Waits, unless interrupted.
    fn pause(&mut self, time: Duration);

    /// Whether root asks: then the root of a user namespace is refused.
    fn is_root(&mut self) -> bool;

    /// Whether the user or the system wants the run to end.
    fn interrupted(&mut self) -> bool;

    /// What a run that was killed left unfinished.
    ///
    /// # Errors
    /// When there is a note about it that cannot be read.
    fn unfinished(&mut self) -> io::Result<Unfinished>;

    /// Notes what must not stay unfinished, instead of what was noted before.
    ///
    /// # Errors
    /// When it cannot be noted; the run goes on without.
    fn remember(&mut self, unfinished: &Unfinished) -> io::Result<()>;
}

/// A user or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Of a group, its members: those of its entry, and local users whose own
    /// group it is.
    pub members: Vec<String>,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Whether it is a directory.
    pub directory: bool,
    /// Whose it is.
    pub owner: Owner,
}

/// Whether a call was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// Yes.
    Yes,
    /// No: this is a recorded tree.
    NotHere,
}

/// A pool on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// The size of its pages.
    pub size: PageSize,
    /// How many there were.
    pub from: u64,
    /// How many there shall be.
    pub to: u64,
}

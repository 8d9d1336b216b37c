//! What is done to the machine beside writing its kernel files: the second
//! seam beside [`hugetools_model::Root`].

use std::io;
use std::path::Path;

use crate::plan::{Mount, Owner};

/// The calls that a plan needs.
pub trait Effects {
    /// What is at a path; links are followed. `None` where nothing is.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn look(&mut self, path: &Path) -> io::Result<Option<Found>>;

    /// Makes a directory with exactly this mode, whatever the umask.
    ///
    /// # Errors
    /// When it cannot be made, or is there already.
    fn make_dir(&mut self, path: &Path, mode: u32) -> io::Result<()>;

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

//! The file that the linker made.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_elf::Marks;

use crate::change::Change;
use crate::failure::{Failure, told};
use crate::file;
use crate::report::Report;

/// The place of the file that the linker makes, and what was there before.
pub(crate) struct Output {
    path: PathBuf,
    before: Option<Stamp>,
}

/// What tells that a file was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    changed: (i64, i64),
}

impl Output {
    /// As it is before the linker runs.
    pub(crate) fn new(path: &Path) -> Output {
        Output {
            path: path.to_owned(),
            before: stamp(path),
        }
    }

    /// Whether the linker wrote a regular file there.
    fn is_made(&self) -> bool {
        let now = stamp(&self.path);
        now.is_some() && now != self.before
    }

    /// Marks the segments of what was made. A file that cannot be marked is
    /// taken away, as a linker that fails takes away its own. Returns what
    /// should be known.
    ///
    /// # Errors
    /// When it cannot be marked.
    pub(crate) fn mark(&self, marks: Marks) -> Result<Vec<String>, Failure> {
        // As for --version, or with /dev/null for output.
        if !self.is_made() {
            return Ok(Vec::new());
        }
        let change = Change {
            marks: Some(marks),
            align: None,
        };
        match file::change(&self.path, &change) {
            Ok(changed) => Ok(Report::changed(&self.path, &changed).notes),
            Err(failure) => {
                self.remove();
                Err(failure)
            }
        }
    }

    /// Takes away what the linker left when a signal ended it.
    pub(crate) fn clean(&self) -> Option<Failure> {
        match self.is_made() {
            true => self.remove(),
            false => None,
        }
    }

    fn remove(&self) -> Option<Failure> {
        let error = fs::remove_file(&self.path).err()?;
        let why = told(&error);
        Some(Failure::of(
            &self.path,
            format_args!("is not whole, and cannot be removed: {why}"),
        ))
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok().filter(|found| found.is_file())?;
    Some(Stamp {
        device: found.dev(),
        inode: found.ino(),
        len: found.len(),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

//! The file that the linker made.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_elf::{Load, Marks, Role, Table};
use hugetools_model::Bytes;

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

    /// Marks the segments of what was made, and looks whether they are apart by
    /// so many bytes. A file that cannot be marked is taken away, as a linker
    /// that fails takes away its own. Returns what should be known.
    ///
    /// # Errors
    /// When it cannot be marked.
    pub(crate) fn finish(&self, size: u64, marks: Option<Marks>) -> Result<Vec<String>, Failure> {
        // As for --version, or with /dev/null for output.
        if !self.is_made() {
            return Ok(Vec::new());
        }
        let mut notes = match marks {
            None => Vec::new(),
            Some(marks) => self.mark(marks)?,
        };
        notes.extend(match file::read(&self.path) {
            Ok(table) => loose(&self.path, &table, size),
            Err(failure) => Some(failure.to_string()),
        });
        Ok(notes)
    }

    fn mark(&self, marks: Marks) -> Result<Vec<String>, Failure> {
        // A program without data is still one that was asked for.
        if file::read(&self.path).is_ok_and(|table| !has_any(&table, marks)) {
            let path = self.path.display();
            return Ok(vec![format!("{path}: has no segment to mark")]);
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

/// Whether any segment can have these marks.
fn has_any(table: &Table, marks: Marks) -> bool {
    table.segments.iter().any(|segment| match segment.role {
        Some(Role::Text) => marks.text,
        Some(Role::Data) => marks.data,
        None => false,
    })
}

/// That segments are not aligned as the linker was told to: other options on
/// the line, or a linker script, may say otherwise.
fn loose(path: &Path, table: &Table, size: u64) -> Option<String> {
    let loads = table.segments.iter().map(|segment| segment.load);
    let is_loose =
        |load: &Load| load.align < size || load.address.wrapping_sub(load.offset) % size != 0;
    let (count, loose) = (table.segments.len(), loads.filter(is_loose).count());
    (loose > 0).then(|| {
        format!(
            "{}: {loose} of {count} segments are not aligned to {}\n  \
             -n, -N or a linker script decides otherwise",
            path.display(),
            Bytes::new(size)
        )
    })
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

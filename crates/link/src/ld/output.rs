//! The output file of the linker.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_elf::{Load, Marks, Table};
use hugetools_model::Bytes;

use crate::change::Change;
use crate::failure::Failure;
use crate::file;
use crate::report::Report;

/// The path of the output, and the file there before the link.
pub(crate) struct Output {
    path: PathBuf,
    before: Option<Stamp>,
}

/// Device, inode and change time (seconds, nanoseconds) of a file. Every write changes the time.
type Stamp = (u64, u64, i64, i64);

impl Output {
    /// Records the file before the linker runs.
    pub(crate) fn new(path: &Path) -> Output {
        Output {
            path: path.to_owned(),
            before: stamp(path),
        }
    }

    /// Whether the linker wrote a regular file.
    fn was_written(&self) -> bool {
        let now = stamp(&self.path);
        now.is_some() && now != self.before
    }

    /// Marks the segments of the output and checks that they are aligned to `size`. Removes a file
    /// that cannot be marked, as linkers remove incomplete output. Returns warnings.
    pub(crate) fn finish(&self, size: u64, marks: Option<Marks>) -> Result<Vec<String>, Failure> {
        // No output, as with --version, or output to /dev/null.
        if !self.was_written() {
            return Ok(Vec::new());
        }
        let mut notes = match marks {
            None => Vec::new(),
            Some(marks) => self.mark(marks)?,
        };
        notes.extend(match file::read(&self.path) {
            Ok(table) => misaligned(&self.path, &table, size),
            Err(failure) => Some(failure.to_string()),
        });
        Ok(notes)
    }

    fn mark(&self, marks: Marks) -> Result<Vec<String>, Failure> {
        // No error: options such as -N give a program without such segments.
        if file::read(&self.path).is_ok_and(|table| table.missing(marks).is_err()) {
            let path = self.path.display();
            return Ok(vec![format!("{path}: no segment to mark")]);
        }
        let change = Change {
            marks: Some(marks),
            align: None,
        };
        match file::change(&self.path, &change) {
            Ok(changed) => Ok(Report::changed(&self.path, &changed).notes),
            Err(failure) => {
                let _ = fs::remove_file(&self.path);
                Err(failure)
            }
        }
    }
}

/// Warns about segments that are not aligned to `size`, because of other options or a linker
/// script.
fn misaligned(path: &Path, table: &Table, size: u64) -> Option<String> {
    let loads = table.segments.iter().map(|segment| segment.load);
    let is_misaligned =
        |load: &Load| load.align < size || load.address.wrapping_sub(load.offset) % size != 0;
    let (count, misaligned) = (table.segments.len(), loads.filter(is_misaligned).count());
    (misaligned > 0).then(|| {
        format!(
            "{}: {misaligned} of {count} segments are not aligned to {}\n  \
             -n, -N or a linker script can cause that",
            path.display(),
            Bytes::new(size)
        )
    })
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok().filter(|found| found.is_file())?;
    let (device, inode) = (found.dev(), found.ino());
    Some((device, inode, found.ctime(), found.ctime_nsec()))
}

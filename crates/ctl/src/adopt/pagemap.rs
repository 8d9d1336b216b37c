//! Reads which base pages of a process are touched, from `/proc/PID/pagemap`.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use hugetools_model::Root;
use hugetools_model::process::{Entry, Pid};

/// The touched pages of a range, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Touched {
    /// In memory, including the kernel's zero page.
    pub(super) present: u64,
    /// Part of `present`: pages that other processes map, and the zero page.
    pub(super) shared: u64,
    pub(super) swapped: u64,
}

#[derive(Debug)]
pub(super) struct Pagemap {
    file: File,
    page: u64,
}

impl Pagemap {
    /// Opens the file; `page` is the base page size in bytes. Returns `None` if that fails, as in a
    /// recorded tree.
    pub(super) fn open(root: &Root, pid: Pid, page: u64) -> Option<Pagemap> {
        let file = root.open(&pid.path("pagemap")).ok()?;
        Some(Pagemap { file, page })
    }

    pub(super) fn touched(&self, range: &Range<u64>) -> io::Result<Touched> {
        let mut touched = Touched::default();
        let len = (range.end - range.start) / self.page * Entry::LEN as u64;
        let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
        let offset = range.start / self.page * Entry::LEN as u64;
        self.file.read_exact_at(&mut bytes, offset)?;
        for entry in Entry::all(&bytes) {
            if entry.is_present() {
                touched.present += self.page;
                touched.shared += if entry.is_exclusive() { 0 } else { self.page };
            } else if entry.is_swapped() {
                touched.swapped += self.page;
            }
        }
        Ok(touched)
    }
}

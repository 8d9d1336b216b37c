//! What of a process's memory is touched, by `/proc/<pid>/pagemap`.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use hugetools_model::Root;
use hugetools_model::process::{Entry, Pid};

use crate::sys::collapse;

/// Entries that are read at once: 64 MiB of 4 KiB pages.
const ENTRIES: u64 = 1 << 14;

/// A mapping that is longer is not looked at further than where its resident pages are
/// found.
const LONG: u64 = 64 << 30;

/// What of some addresses is there, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Touched {
    /// In memory, pages of zeros included.
    pub(super) present: u64,
    /// In memory, and not of this process alone.
    pub(super) common: u64,
    /// On swap.
    pub(super) swapped: u64,
}

impl Touched {
    fn add(&mut self, entry: Entry, page: u64) {
        if entry.is_present() {
            self.present += page;
            self.common += if entry.is_exclusive() { 0 } else { page };
        } else if entry.is_swapped() {
            self.swapped += page;
        }
    }
}

/// The file of a process.
#[derive(Debug)]
pub(super) struct Pagemap {
    file: File,
    page: u64,
}

impl Pagemap {
    /// Opens it; `page` is the size of a base page. `None` where it may not be read, and
    /// in a recorded tree.
    pub(super) fn open(root: &Root, pid: Pid, page: u64) -> Option<Pagemap> {
        let file = root.open(&pid.path("pagemap")).ok()?;
        Some(Pagemap { file, page })
    }

    /// What lies on huge pages; `None` where the kernel does not tell.
    pub(super) fn huge(&self, range: &Range<u64>) -> Option<Vec<Range<u64>>> {
        collapse::huge(&self.file, range)
    }

    /// Tells what is touched, block by block of `size` bytes, cut at the ends of the range.
    /// Blocks in which nothing is are left out. Of a long range no more is looked at once
    /// `resident` bytes are found.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn blocks(
        &self,
        range: &Range<u64>,
        size: u64,
        resident: u64,
        mut found: impl FnMut(Range<u64>, Touched),
    ) -> io::Result<()> {
        let mut seen = 0;
        let mut block = Block::new(range.start, range, size);
        let (mut at, end) = (range.start / self.page, range.end / self.page);
        let mut bytes = Vec::new();
        while at < end && (seen < resident || range.end - range.start <= LONG) {
            let count = ENTRIES.min(end - at);
            bytes.resize(usize::try_from(count * 8).unwrap_or(0), 0);
            self.file.read_exact_at(&mut bytes, at * 8)?;
            for entry in Entry::all(&bytes) {
                block.touched.add(entry, self.page);
                at += 1;
                let address = at * self.page;
                if address >= block.range.end {
                    seen += block.touched.present;
                    block.tell(&mut found);
                    block = Block::new(address, range, size);
                }
            }
        }
        block.tell(&mut found);
        Ok(())
    }
}

/// A block that is being looked at.
struct Block {
    range: Range<u64>,
    touched: Touched,
}

impl Block {
    /// The one that begins there.
    fn new(start: u64, all: &Range<u64>, size: u64) -> Block {
        Block {
            range: start..((start / size + 1) * size).min(all.end),
            touched: Touched::default(),
        }
    }

    fn tell(&self, found: &mut impl FnMut(Range<u64>, Touched)) {
        if self.touched != Touched::default() {
            found(self.range.clone(), self.touched);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const EXCLUSIVE: u64 = 1 << 56;

    /// A file whose pages from 1 on are as told.
    fn pagemap(entries: &[u64]) -> Pagemap {
        let mut file = tempfile::tempfile().unwrap();
        let all = std::iter::once(&0).chain(entries);
        let bytes: Vec<u8> = all.flat_map(|entry| entry.to_ne_bytes()).collect();
        file.write_all(&bytes).unwrap();
        Pagemap { file, page: 4096 }
    }

    #[test]
    fn blocks_are_cut_at_the_ends() {
        let own = PRESENT | EXCLUSIVE;
        let pagemap = pagemap(&[own, PRESENT, SWAPPED, own, 0, 0, 0, 0, own]);
        let mut all = Vec::new();
        let range = 4096..10 * 4096;
        let read = pagemap.blocks(&range, 4 * 4096, 0, |range, touched| {
            all.push((range, touched));
        });
        read.unwrap();
        let touched = |present: u64, common: u64, swapped: u64| Touched {
            present: present * 4096,
            common: common * 4096,
            swapped: swapped * 4096,
        };
        let wanted = [
            (4096..4 * 4096, touched(2, 1, 1)),
            (4 * 4096..8 * 4096, touched(1, 0, 0)),
            (8 * 4096..10 * 4096, touched(1, 0, 0)),
        ];
        assert_eq!(all, wanted);
        assert!(pagemap.blocks(&(0..1 << 20), 4096, 0, |_, _| {}).is_err());
    }
}

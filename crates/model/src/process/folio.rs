//! The folio sizes of a process's memory: `/proc/<pid>/pagemap` has the page frames,
//! `/proc/kpageflags` their flags.
//!
//! A folio is the kernel's unit of memory: a base page, a pool page, or 2^n base pages as in
//! multi-size THP. smaps counts only huge pages with a PMD mapping.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use hugetools_kernfs::pagemap::Entry;

use crate::process::Pid;
use crate::root::Root;
use crate::root::error::{FileError, Op};
use crate::root::kpath::KPath;

/// Maximum number of cached blocks: 1 TiB of memory in blocks of 2 MiB.
const MAX_CACHED_BLOCKS: usize = 1 << 19;
/// Number of pagemap entries per read.
const ENTRIES_PER_READ: usize = 1 << 15;

/// `KPF_COMPOUND_HEAD`, `KPF_COMPOUND_TAIL`, `KPF_HUGE` and `KPF_ZERO_PAGE` in
/// `/proc/kpageflags`.
const HEAD: u64 = 1 << 15;
const TAIL: u64 = 1 << 16;
const HUGE: u64 = 1 << 17;
const ZERO: u64 = 1 << 24;

/// Bytes in folios, by the size of the folio in bytes.
pub type Sizes = BTreeMap<u64, u64>;

/// The folio to which a base page belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folio {
    /// A folio of 2^n base pages.
    OfOrder(u8),
    /// A page of a pool.
    Hugetlb,
    /// The shared zero page, which takes no memory.
    Zero,
}

/// The folios of the machine's page frames. They are cached and assumed not to change.
#[derive(Debug)]
pub struct Frames {
    file: File,
    page: u64,
    /// Page frames per block: those of the largest transparent huge page.
    block: usize,
    /// Folios by block number.
    cache: HashMap<u64, Vec<Folio>>,
}

fn kpageflags_path() -> KPath {
    KPath::from("/proc/kpageflags")
}

fn open_live(root: &Root, path: &KPath) -> Result<File, FileError> {
    if !root.is_live() {
        return Err(FileError::content(path, "not available in a recorded tree"));
    }
    root.open(path)
}

impl Frames {
    /// Opens `/proc/kpageflags`. `page` is the size of a base page, `largest` that of the largest
    /// transparent huge page. Only root can read the file.
    pub fn open(root: &Root, page: u64, largest: u64) -> Result<Frames, FileError> {
        Ok(Frames {
            file: open_live(root, &kpageflags_path())?,
            page,
            block: usize::try_from(largest.max(page) / page.max(1)).unwrap_or(1),
            cache: HashMap::new(),
        })
    }

    fn folio(&mut self, frame: u64) -> Result<Folio, FileError> {
        let size = self.block as u64;
        let (block, at) = (frame / size, usize::try_from(frame % size).unwrap_or(0));
        if !self.cache.contains_key(&block) {
            if self.cache.len() >= MAX_CACHED_BLOCKS {
                self.cache.clear();
            }
            let flags = read_words(&self.file, block * size, self.block);
            let flags =
                flags.map_err(|error| FileError::io(Op::Read, &kpageflags_path(), &error))?;
            self.cache.insert(block, folios(&flags, self.block));
        }
        Ok(self.cache[&block]
            .get(at)
            .copied()
            .unwrap_or(Folio::OfOrder(0)))
    }
}

/// Reads up to `count` words of 8 bytes, from number `first` on.
fn read_words(file: &File, first: u64, count: usize) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; count * 8];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], first * 8 + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let words = bytes[..filled].chunks_exact(8);
    Ok(words
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
        .collect())
}

fn has_flag(word: &u64, flag: u64) -> bool {
    word & flag != 0
}

/// Returns the folio of each page in a block. Folios are aligned to their size, so none
/// crosses a block boundary. A larger folio counts as a block.
fn folios(flags: &[u64], block: usize) -> Vec<Folio> {
    let mut folios = Vec::with_capacity(flags.len());
    while let Some(first) = flags.get(folios.len()) {
        let rest = &flags[folios.len()..];
        let tails = rest
            .iter()
            .skip(1)
            .take_while(|flags| has_flag(flags, TAIL))
            .count();
        let (pages, folio) = match first {
            flags if has_flag(flags, HUGE) => (1, Folio::Hugetlb),
            flags if has_flag(flags, ZERO) => (1, Folio::Zero),
            flags if has_flag(flags, HEAD) => (tails + 1, Folio::OfOrder(order(tails + 1))),
            flags if has_flag(flags, TAIL) => (1, Folio::OfOrder(order(block))),
            _ => (1, Folio::OfOrder(0)),
        };
        folios.extend(std::iter::repeat_n(folio, pages));
    }
    folios
}

fn order(pages: usize) -> u8 {
    u8::try_from(pages.ilog2()).unwrap_or(u8::MAX)
}

/// The pages of a process.
#[derive(Debug)]
pub struct Pages {
    file: File,
    path: KPath,
}

impl Pages {
    /// Opens `/proc/<pid>/pagemap`.
    pub fn open(root: &Root, pid: Pid) -> Result<Pages, FileError> {
        let path = pid.path("pagemap");
        Ok(Pages {
            file: open_live(root, &path)?,
            path,
        })
    }

    /// Adds the pages in an address range to `sizes`, by the size of their folio. Stops at `max`
    /// bytes or shortly after; returns the bytes found. `hugetlb` is the pool page size of the
    /// range. Fails if the kernel hides the frame numbers.
    pub fn add(
        &self,
        frames: &mut Frames,
        range: Range<u64>,
        max: u64,
        hugetlb: u64,
        sizes: &mut Sizes,
    ) -> Result<u64, FileError> {
        let page = frames.page;
        let (mut at, end) = (range.start / page, range.end / page);
        let mut found = 0;
        while at < end && found < max {
            let count = usize::try_from(end - at)
                .map_or(ENTRIES_PER_READ, |rest| rest.min(ENTRIES_PER_READ));
            let entries = read_words(&self.file, at, count);
            let entries = entries.map_err(|error| FileError::io(Op::Read, &self.path, &error))?;
            if entries.is_empty() {
                break;
            }
            at += entries.len() as u64;
            let entries = entries.into_iter().map(Entry::new);
            for entry in entries.filter(|entry| entry.is_present()) {
                let frame = entry.frame().ok_or_else(|| self.no_frames())?;
                let size = match frames.folio(frame)? {
                    Folio::Zero => continue,
                    Folio::Hugetlb => hugetlb,
                    Folio::OfOrder(order) => page << order,
                };
                *sizes.entry(size).or_default() += page;
                found += page;
            }
        }
        Ok(found)
    }

    fn no_frames(&self) -> FileError {
        FileError::content(
            &self.path,
            "reading page frame numbers requires CAP_SYS_ADMIN",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_folio_is_a_head_and_its_tails() {
        let flags = [0, HEAD, TAIL, HEAD, TAIL, TAIL, TAIL, 0, HUGE | TAIL, ZERO];
        let four = [Folio::OfOrder(2); 4];
        let before = [Folio::OfOrder(0), Folio::OfOrder(1), Folio::OfOrder(1)];
        let after = [Folio::OfOrder(0), Folio::Hugetlb, Folio::Zero];
        assert_eq!(folios(&flags, 16), [&before[..], &four, &after].concat());
        assert_eq!(folios(&[TAIL; 2], 16), [Folio::OfOrder(4); 2]);
    }

    proptest! {
        #[test]
        fn each_page_has_a_folio(flags in prop::collection::vec(0..4u64, 0..70)) {
            let flags: Vec<u64> = flags.iter().map(|flags| flags << 15).collect();
            prop_assert_eq!(folios(&flags, 64).len(), flags.len());
        }
    }
}

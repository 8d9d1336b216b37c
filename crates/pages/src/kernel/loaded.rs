//! Whether a segment is still as the loader mapped it. If a library's constructor has remapped or
//! protected part of it, we don't replace it.

use core::ffi::c_int;
use core::ops::Range;

use hugetools_kernfs::smaps::{self, Record};

use crate::kernel::procfile::{each_line, if_allowed};
use crate::sys;

/// A segment as the loader maps it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its addresses.
    pub range: Range<usize>,
    /// End of the part that comes from the file.
    pub file_end: usize,
    /// Address that corresponds to offset 0 of the file.
    pub file_start: usize,
    /// Its protection, as for `mmap`.
    pub prot: c_int,
}

impl Loaded {
    /// Whether all of it is private, has this protection, and maps its part of the file or no file;
    /// `false` if unknown.
    pub fn is_unchanged(&self) -> bool {
        let mut rest = self.range.clone();
        let check = |line: &[u8]| {
            let record = smaps::records(line).next()?;
            self.next(&record, &mut rest)
        };
        if_allowed(|| each_line(c"/proc/self/maps", check)) == Some(true)
    }

    /// Checks the next mapping; returns the result once it is known.
    fn next(&self, record: &Record<'_>, rest: &mut Range<usize>) -> Option<bool> {
        let address = |word| usize::try_from(word).unwrap_or(usize::MAX);
        let (start, end) = (address(record.start), address(record.end));
        if end <= rest.start {
            return None;
        }
        if start > rest.start || !self.is_like(record, start.max(self.range.start), end) {
            return Some(false);
        }
        rest.start = end.min(rest.end);
        (rest.start >= rest.end).then_some(true)
    }

    fn is_like(&self, record: &Record<'_>, from: usize, end: usize) -> bool {
        let has = |bit: c_int| self.prot & bit != 0;
        let is_file = record.inode != 0;
        let offset = usize::try_from(record.offset).ok();
        let start = usize::try_from(record.start).ok();
        let file_start = start.zip(offset).map(|(start, at)| start.wrapping_sub(at));
        let file_end = self.file_end.next_multiple_of(sys::page_size());
        // Anonymous pages are zeros, or copies that another library made.
        let is_own = file_start == Some(self.file_start) && end.min(self.range.end) <= file_end;
        let is_placed = !is_file || is_own && from < file_end;
        let is_same = record.accessible
            && record.writable == has(libc::PROT_WRITE)
            && record.executable == has(libc::PROT_EXEC);
        is_same && !record.shared && is_placed
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "maps memory to look at")]
mod tests {
    use super::*;

    const RW: c_int = libc::PROT_READ | libc::PROT_WRITE;

    fn map(pages: usize) -> Loaded {
        let len = pages * sys::page_size();
        let start = sys::map_new(len).unwrap();
        Loaded {
            range: start..start + len,
            file_end: start,
            file_start: start,
            prot: RW,
        }
    }

    #[test]
    fn a_change_of_one_page_is_detected() {
        type Change = fn(usize, usize);
        const SHARED: c_int = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let closed: Change = |at, len| {
            // SAFETY: memory of the test, for each of these.
            unsafe { sys::mprotect(at, len, libc::PROT_NONE) }.unwrap();
        };
        let read_only: Change = |at, len| {
            // SAFETY: likewise.
            unsafe { sys::mprotect(at, len, libc::PROT_READ) }.unwrap();
        };
        let gone: Change = |at, len| {
            // SAFETY: likewise.
            unsafe { sys::munmap(at, len) }.unwrap();
        };
        let shared: Change = |at, len| {
            // SAFETY: likewise.
            unsafe { sys::mmap(at, len, RW, SHARED, -1, 0) }.unwrap();
        };
        let changes = [closed, read_only, gone, shared];
        let page = sys::page_size();
        for (index, change) in changes.into_iter().enumerate() {
            let loaded = map(16);
            change(loaded.range.start + 3 * page, page);
            assert!(!loaded.is_unchanged(), "change {index}");
            let range = loaded.range.start..loaded.range.start + 3 * page;
            assert!(Loaded { range, ..loaded }.is_unchanged());
        }
    }

    #[test]
    fn file_pages_must_be_at_their_offset() {
        let file = sys::File::open(c"/proc/self/exe", libc::O_RDONLY).unwrap();
        let loaded = map(4);
        let page = sys::page_size();
        let end = loaded.range.end;
        let put = |offset: usize| {
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
            let (at, fd) = (loaded.range.start, file.fd());
            // SAFETY: memory of the test.
            unsafe { sys::mmap(at, 2 * page, RW, flags, fd, offset).unwrap() };
        };
        let with = |file_end, file_start| Loaded {
            file_end,
            file_start,
            ..loaded.clone()
        };
        put(0);
        let start = loaded.range.start;
        assert!(with(start + 2 * page, start).is_unchanged());
        assert!(!with(start, start).is_unchanged(), "behind the file's end");
        assert!(!with(end, start - page).is_unchanged(), "another place");
    }
}

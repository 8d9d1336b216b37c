//! Whether a segment is still what the loader has mapped: constructors of libraries run
//! before the program, and may map, protect or advise a part of its variables or code. Such
//! a segment is not replaced, since what takes its place would know nothing of that.

use core::ffi::c_int;
use core::ops::Range;

use hugetools_kernfs::smaps::{self, Record};

use crate::kernel::procfile::{each_line, look};
use crate::sys;

/// What the loader has mapped.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its addresses.
    pub range: Range<usize>,
    /// Where what comes from the file ends, and memory without a file begins.
    pub file_end: usize,
    /// The address at which the file would begin, were all of it mapped likewise.
    pub file_start: usize,
    /// Its access, as for `mmap`.
    pub prot: c_int,
}

impl Loaded {
    /// Whether all of it is private, has its access, and comes from its place in the file
    /// or from none; no where it cannot be told.
    pub fn is_mapped_so(&self) -> bool {
        let mut rest = self.range.clone();
        let is_so = |line: &[u8]| {
            let record = smaps::records(line).next()?;
            self.next(&record, &mut rest)
        };
        look(|| each_line(c"/proc/self/maps", is_so)) == Some(true)
    }

    /// Takes a mapping from what was not seen yet; whether all is so, once that is known.
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
        // Without a file are zeros, and copies that another has made.
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
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let len = pages * sys::page_size();
        // SAFETY: a new mapping.
        let start = unsafe { sys::mmap(0, len, RW, flags, -1, 0).unwrap() };
        Loaded {
            range: start..start + len,
            file_end: start,
            file_start: start,
            prot: RW,
        }
    }

    #[test]
    fn variables_as_they_were_mapped_are_known() {
        let loaded = map(16);
        assert!(loaded.is_mapped_so());
        let (start, len) = (loaded.range.start, sys::page_size());
        // SAFETY: memory of the test.
        unsafe { sys::madvise(start, 3 * len, libc::MADV_HUGEPAGE).unwrap() };
        assert!(loaded.is_mapped_so());
        let prot = libc::PROT_READ;
        assert!(!Loaded { prot, ..loaded }.is_mapped_so());
    }

    #[test]
    fn what_was_done_to_one_page_is_seen() {
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
            assert!(!loaded.is_mapped_so(), "change {index}");
            let range = loaded.range.start..loaded.range.start + 3 * page;
            assert!(Loaded { range, ..loaded }.is_mapped_so());
        }
    }

    #[test]
    fn another_file_is_not_the_programs() {
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
        assert!(with(start + 2 * page, start).is_mapped_so());
        assert!(!with(start, start).is_mapped_so(), "behind the file's end");
        assert!(!with(end, start - page).is_mapped_so(), "another place");
    }
}

//! `/proc/self/pagemap`: the state of base pages.

use core::ops::Range;

use hugetools_kernfs::pagemap::Entry;

use crate::sys::{self, File, Result};

/// State of a base page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// Not populated.
    Absent,
    /// A page of a file or of shared memory.
    File,
    /// A page of this process alone.
    Private,
    /// A private page that is swapped out or under migration, or a marker.
    Swapped,
}

impl Page {
    fn of(entry: Entry) -> Page {
        match (entry.is_present(), entry.is_swapped(), entry.is_of_file()) {
            (true, _, false) => Page::Private,
            (false, true, false) => Page::Swapped,
            (false, false, _) => Page::Absent,
            (_, _, true) => Page::File,
        }
    }
}

/// Bytes per read: the entries of 2 MiB in 4 KiB pages.
const AT_ONCE: usize = 512 * Entry::LEN;

/// Calls `visit` with each base page of an aligned range.
///
/// # Errors
/// If reading fails; some pages may have been visited.
pub fn scan(range: Range<usize>, mut visit: impl FnMut(usize, Page)) -> Result<()> {
    const ENTRY: usize = Entry::LEN;
    let file = File::open(c"/proc/self/pagemap", libc::O_RDONLY)?;
    let page = sys::page_size();
    let mut buffer = [0; AT_ONCE];
    let mut at = range.start;
    while at < range.end {
        let wanted = ((range.end - at) / page).min(AT_ONCE / ENTRY);
        let got = file.read_at(&mut buffer[..wanted * ENTRY], at / page * ENTRY)? / ENTRY;
        if got == 0 {
            return Err(sys::Errno(libc::EIO));
        }
        for entry in Entry::all(&buffer[..got * ENTRY]) {
            visit(at, Page::of(entry));
            at += page;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "maps memory to look at")]
    fn what_was_touched_is_there() {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let page = sys::page_size();
        // SAFETY: a new mapping.
        let addr = unsafe { sys::mmap(0, 1200 * page, prot, flags, -1, 0).unwrap() };
        // SAFETY: base pages, each of which is looked at by itself.
        unsafe { sys::madvise(addr, 1200 * page, libc::MADV_NOHUGEPAGE).unwrap() };
        for touched in [0, 700] {
            // SAFETY: mapped just now.
            unsafe { ((addr + touched * page) as *mut u8).write(1) };
        }
        let mut there = Vec::new();
        scan(addr..addr + 1200 * page, |at, what| {
            if what != Page::Absent {
                there.push(((at - addr) / page, what));
            }
        })
        .unwrap();
        assert_eq!(there, [(0, Page::Private), (700, Page::Private)]);
    }

    #[test]
    fn the_text_of_this_program_is_of_a_file() {
        let page = sys::page_size();
        let here = Page::of as *const () as usize / page * page;
        let mut found = None;
        scan(here..here + page, |_, what| found = Some(what)).unwrap();
        assert_eq!(found, Some(Page::File));
    }
}

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
    /// An anonymous page.
    Private,
    /// An anonymous page in swap or under migration, or a PTE marker (such as userfaultfd's).
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

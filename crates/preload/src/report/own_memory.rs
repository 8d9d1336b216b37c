//! What the kernel says of this process's memory, for its report.
//!
//! Most processes that end are small, short-lived children without any huge page, as
//! those of a shell are; of them the kernel is asked the cheap way, which says the same.

use hugetools_kernfs::keyed;
use hugetools_kernfs::pagemap::scan;
use hugetools_kernfs::smaps::{self, Record};
use hugetools_pages::kernel::facts;
use hugetools_pages::sys::File;

use crate::report::old_root;
use crate::rt::scratch;

/// The mappings of this process.
pub(crate) enum Mappings {
    /// The text of `/proc/self/smaps`.
    Smaps(&'static [u8]),
    /// Where no page is huge: the same from `maps` and the pages that are there.
    Plain(scan::Records<'static>),
}

impl Mappings {
    /// Asks for them; where they cannot be had, that is said.
    pub(crate) fn find(status: &Status) -> Option<Mappings> {
        match status.is_free.then(plain).flatten() {
            Some(records) => Some(Mappings::Plain(records)),
            None => old_root::smaps().map(Mappings::Smaps),
        }
    }

    /// All of them.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'static>> {
        let (smaps, plain) = match self {
            Mappings::Smaps(text) => (Some(smaps::records(text)), None),
            Mappings::Plain(records) => (None, Some(records.clone())),
        };
        smaps
            .into_iter()
            .flatten()
            .chain(plain.into_iter().flatten())
    }

    /// How many there are, and how many of them have another name than the one before.
    pub(crate) fn count(&self) -> (usize, usize) {
        let (mut count, mut names) = (0, 0);
        let mut last: &[u8] = b"";
        for record in self.records() {
            count += 1;
            names += usize::from(record.name != last);
            last = record.name;
        }
        (count, names)
    }

    /// The size of a transparent huge page, where there may be one.
    pub(crate) fn transparent_size(&self) -> u64 {
        match self {
            Mappings::Smaps(_) => facts::thp_size() as u64,
            Mappings::Plain(_) => 0,
        }
    }
}

/// So many ranges are looked at: a process with more is none of the small ones.
const RANGES: usize = 1024;

fn plain() -> Option<scan::Records<'static>> {
    let maps = scratch::read_short(c"/proc/self/maps")?;
    let end = scan::end_of(maps)?;
    let file = File::open(c"/proc/self/pagemap", libc::O_RDONLY).ok()?;
    let room = scratch::bytes(RANGES * scan::Found::LEN)?;
    let len = file.pages_there(end, room).ok()??;
    scan::records(maps, scratch::keep_first(room, len))
}

/// What the kernel says of this process as a whole.
#[derive(Debug, Default)]
pub(crate) struct Status {
    /// The most bytes that were resident, pages of pools apart; `None` where that is not
    /// known.
    pub(crate) most_resident: Option<u64>,
    /// Whether any system call may be made.
    is_free: bool,
}

impl Status {
    /// Reads it, as far as that can be had.
    pub(crate) fn read() -> Status {
        let text = scratch::read_short(c"/proc/self/status").unwrap_or_default();
        let kib = keyed::number(text, b"VmHWM:");
        Status {
            most_resident: kib.and_then(|kib| kib.checked_mul(1024)),
            is_free: facts::says_no_filter(text),
        }
    }
}

//! What the kernel says of this process's memory, for its report.

use hugetools_kernfs::keyed;
use hugetools_kernfs::smaps::{self, Record};
use hugetools_pages::rt::message::{Level, say};

use crate::rt::scratch;

/// The mappings of this process: the text of `/proc/self/smaps`.
pub(crate) struct Mappings(&'static [u8]);

impl Mappings {
    /// Asks for them; where they cannot be had, that is said.
    pub(crate) fn find() -> Option<Mappings> {
        let text = scratch::read(c"/proc/self/smaps");
        if text.is_none() {
            say(
                Level::Warning,
                format_args!("no report: /proc/self/smaps cannot be read here"),
            );
        }
        text.map(Mappings)
    }

    /// All of them.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'static>> {
        smaps::records(self.0)
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
}

/// What the kernel says of this process as a whole.
#[derive(Debug, Default)]
pub(crate) struct Status {
    /// The most bytes that were resident, pages of pools apart; `None` where that is not
    /// known.
    pub(crate) most_resident: Option<u64>,
}

impl Status {
    /// Reads it, as far as that can be had.
    pub(crate) fn read() -> Status {
        let text = scratch::read_short(c"/proc/self/status").unwrap_or_default();
        let kib = keyed::number(text, b"VmHWM:");
        Status {
            most_resident: kib.and_then(|kib| kib.checked_mul(1024)),
        }
    }
}
